#include "runtime/os/random_secret.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include <sys/random.h>

#include "runtime/os/errno_text.hpp"

namespace troupe {

expected<random_secret> random_secret::make() {
  random_secret made;
  ssize_t got = -1;
  do {
    got = ::getrandom(made.words_.data(), sizeof(words_t), 0);
  } while (got < 0 && errno == EINTR);
  // So few bytes come whole or not at all.
  if (got != static_cast<ssize_t>(sizeof(words_t)))
    return fail(error_code::process_failed, "random numbers", "getrandom: " + errno_text());
  return made;
}

std::string random_secret::hex() const {
  char text[2 * sizeof(words_t) + 1];
  std::snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, words_[0], words_[1]);
  return text;
}

}  // namespace troupe
