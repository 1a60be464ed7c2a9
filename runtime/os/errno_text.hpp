#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace troupe {

/// What the system says about an error number. From any thread, unlike strerror().
inline std::string errno_text(int number = errno) {
  return std::system_category().message(number);
}

}  // namespace troupe
