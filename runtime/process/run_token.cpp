#include "runtime/process/run_token.hpp"

#include <cerrno>
#include <string_view>

#include <sys/random.h>

#include "runtime/process/errno_text.hpp"

namespace troupe {

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

std::string run_token::hex() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes_) {
    text += digits[byte / 16];
    text += digits[byte % 16];
  }
  return text;
}

}  // namespace troupe
