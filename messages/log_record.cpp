#include <array>
#include <cstddef>
#include <string_view>

#include <troupe/log_record.hpp>

namespace troupe {
namespace {

constexpr std::string_view indent = "  ";

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Bytes of the UTF-8 character at the front of `text`; 0 if none is there, or a control character.
std::size_t printable_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_control = first == 0xC2 && second < 0xA0;
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_no_character = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return is_control || is_overlong || is_no_character ? 0 : length;
}

void append_escaped(std::string& to, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  to += "\\x";
  to += digits[byte >> 4U];
  to += digits[byte & 0xFU];
}

void append_text(std::string& to, std::string_view text) {
  while (!text.empty()) {
    std::size_t taken = 1;
    if (text.front() == '\n') {
      to += '\n';
      if (!text.substr(1).starts_with(indent)) to += indent;
    } else if (text.front() == '\t') {
      to += '\t';
    } else if (const std::size_t length = printable_at(text); length > 0) {
      to += text.substr(0, length);
      taken = length;
    } else {
      append_escaped(to, text.front());
    }
    text.remove_prefix(taken);
  }
}

}  // namespace

std::string level_name(log_level level) {
  static constexpr std::array<std::string_view, 4> names = {"debug", "info", "warning", "error"};
  return std::string(names.at(static_cast<std::size_t>(level)));
}

std::string to_string(const log_record& record) {
  std::string line;
  if (record.level == log_level::debug || record.level == log_level::warning) line = level_name(record.level) + ": ";
  if (record.rank || !record.stage.empty()) {
    line += '[';
    append_text(line, record.stage);
    if (record.rank) line += (record.stage.empty() ? "rank " : ", rank ") + std::to_string(*record.rank);
    line += "] ";
  }
  append_text(line, record.text);
  return line;
}

}  // namespace troupe
