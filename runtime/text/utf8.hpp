#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Texts here are UTF-8 that has been checked once (invalid_utf8_at): what reads them looks no further.
namespace troupe::utf8 {

/// The first byte that belongs to no character; npos where all is UTF-8.
std::size_t invalid_utf8_at(std::string_view text) noexcept;

constexpr bool is_continuation(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// The number of bytes of the character that begins with `byte`.
constexpr std::size_t length_from(char byte) noexcept {
  const auto b = static_cast<unsigned char>(byte);
  return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

constexpr std::size_t length_of(char32_t c) noexcept {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/// The character at `at`, which is moved behind it.
inline char32_t next(std::string_view text, std::size_t& at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t first = byte(0);
  if (first < 0x80) return ++at, first;
  char32_t c = 0;
  if (first < 0xE0) {
    c = (first & 0x1F) << 6 | (byte(1) & 0x3F);
    at += 2;
  } else if (first < 0xF0) {
    c = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    at += 3;
  } else {
    c = (first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    at += 4;
  }
  return c;
}

/// The beginning of the character that ends before `at`, which is not 0.
inline std::size_t before(std::string_view text, std::size_t at) noexcept {
  --at;
  while (at > 0 && is_continuation(text[at])) --at;
  return at;
}

inline void append(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

inline std::string text_of(char32_t c) {
  std::string text;
  append(text, c);
  return text;
}

std::size_t count(std::string_view text) noexcept;
bool is_ascii(std::string_view text) noexcept;

}  // namespace troupe::utf8
