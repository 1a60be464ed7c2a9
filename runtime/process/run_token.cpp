#include <cerrno>

#include <sys/random.h>

#include <troupe/runtime/process/errno_text.hpp>
#include <troupe/runtime/process/run_token.hpp>

namespace troupe {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

expected<run_token> run_token::make() {
  run_token made;
  ssize_t got = -1;
  do {
    got = ::getrandom(made.bytes_.data(), size, 0);
  } while (got < 0 && errno == EINTR);
  // So few bytes come whole or not at all.
  if (got != static_cast<ssize_t>(size))
    return fail(error_code::process_failed, "run token", "getrandom: " + errno_text());
  return made;
}

std::optional<run_token> run_token::parse(std::string_view hex) {
  if (hex.size() != 2 * size) return std::nullopt;
  run_token parsed;
  for (std::size_t i = 0; i < size; ++i) {
    const auto high = digits.find(hex[2 * i]);
    const auto low = digits.find(hex[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    parsed.bytes_.at(i) = static_cast<std::uint8_t>(16 * high + low);
  }
  return parsed;
}

std::string run_token::hex() const {
  std::string text;
  for (const std::uint8_t byte : bytes_) {
    text += digits[byte / 16];
    text += digits[byte % 16];
  }
  return text;
}

bool operator==(const run_token& a, const run_token& b) noexcept {
  unsigned difference = 0;
  for (std::size_t i = 0; i < run_token::size; ++i)
    difference |= unsigned{a.bytes_.at(i)} ^ unsigned { b.bytes_.at(i) };
  return difference == 0;
}

}  // namespace troupe
