#include "runtime/launch/launch_text.hpp"

#include <limits>

#include <fmt/format.h>

namespace troupe {

std::string quote_text(std::string_view text) {
  constexpr std::size_t bytes_shown = 40;
  std::string quoted = "'";
  for (const char c : text.substr(0, bytes_shown)) {
    if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return quoted + (text.size() > bytes_shown ? "...'" : "'");
}

std::optional<std::uint64_t> read_digits(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    value = value > (greatest - digit) / 10 ? greatest : value * 10 + digit;
  }
  return value;
}

std::size_t find_before(std::string_view text, char byte, std::size_t at, std::size_t end) {
  const std::size_t found = text.substr(at, end - at).find(byte);
  return found == std::string_view::npos ? end : at + found;
}

std::string character_place(std::string_view source, std::size_t at) {
  return fmt::format("{}, character {}", source, at + 1);
}

}  // namespace troupe
