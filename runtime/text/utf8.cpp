#include "runtime/text/utf8.hpp"

#include <cstring>

namespace troupe::utf8 {
namespace {

/// The length of the character at `at`, 0 for none (Unicode 15, table 3-7).
std::size_t checked_length(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  if (first < 0xE0) return follows(1) ? 2 : 0;
  if (first < 0xF0) {
    const bool is_short = first == 0xE0 && byte(1) < 0xA0;
    const bool is_surrogate = first == 0xED && byte(1) > 0x9F;
    return follows(1) && follows(2) && !is_short && !is_surrogate ? 3 : 0;
  }
  const bool is_short = first == 0xF0 && byte(1) < 0x90;
  const bool is_beyond = first == 0xF4 && byte(1) > 0x8F;
  return follows(1) && follows(2) && follows(3) && !is_short && !is_beyond ? 4 : 0;
}

/// Whether the eight bytes at `at`, which are there, are all ASCII.
bool are_eight_ascii(const char* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

}  // namespace

std::size_t invalid_utf8_at(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text.size() - at >= 8 && are_eight_ascii(text.data() + at)) {
      at += 8;
      continue;
    }
    const std::size_t length = checked_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::size_t count(std::string_view text) noexcept {
  std::size_t characters = 0;
  for (const char byte : text) characters += is_continuation(byte) ? 0 : 1;
  return characters;
}

bool is_ascii(std::string_view text) noexcept {
  std::size_t at = 0;
  for (; text.size() - at >= 8; at += 8) {
    if (!are_eight_ascii(text.data() + at)) return false;
  }
  for (; at < text.size(); ++at) {
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  }
  return true;
}

}  // namespace troupe::utf8
