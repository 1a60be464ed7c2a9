#include "messages/printable.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr std::string_view indent = "  ";

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// A character of three bytes is one of U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.
bool turns_text(std::string_view character) {
  if (byte_at(character, 0) != 0xE2) return false;
  const unsigned char second = byte_at(character, 1);
  const unsigned char third = byte_at(character, 2);
  if (second == 0x80) return third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE);
  return second == 0x81 && third >= 0xA6 && third <= 0xA9;
}

/// Bytes of the UTF-8 character at the front of `text`; 0 if none is there, or one that is to be escaped.
std::size_t printable_at(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const unsigned char second = byte_at(text, 1);
  const bool is_control = (first == 0xC2 && second < 0xA0) || (first == 0xD8 && second == 0x9C);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_no_character = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  const bool is_refused = is_control || is_overlong || is_no_character || (length == 3 && turns_text(text));
  return is_refused ? 0 : length;
}

void append_escaped(std::string& to, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  to += "\\x";
  to += digits[byte >> 4U];
  to += digits[byte & 0xFU];
}

std::string escaped(std::string_view text, bool has_lines) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    std::size_t taken = 1;
    if (has_lines && text.front() == '\n') {
      made += '\n';
      if (!text.substr(1).starts_with(indent)) made += indent;
    } else if (has_lines && text.front() == '\t') {
      made += '\t';
    } else if (const std::size_t length = printable_at(text); length > 0) {
      made += text.substr(0, length);
      taken = length;
    } else {
      append_escaped(made, text.front());
    }
    text.remove_prefix(taken);
  }
  return made;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, false);
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view cut = "...";
  std::string made;
  while (!text.empty()) {
    const std::size_t taken = std::max<std::size_t>(printable_at(text), 1);
    const std::string next = escaped(text.substr(0, taken), false);
    if (made.size() + next.size() + cut.size() > bytes_max) return made.append(cut);
    made += next;
    text.remove_prefix(taken);
  }
  return made;
}

std::string printable_lines(std::string_view text) {
  return escaped(text, true);
}

}  // namespace troupe
