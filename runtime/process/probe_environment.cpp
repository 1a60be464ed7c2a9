#include "runtime/process/probe_environment.hpp"

#include <cstdlib>
#include <string_view>

#include <fcntl.h>

namespace troupe {

expected<bool> take_probe_environment() {
  const char* found = std::getenv(probe_variable);
  if (found == nullptr) return false;
  const bool is_ours = found == std::string_view(probe_value) && ::fcntl(probe_report_number, F_SETFD, FD_CLOEXEC) == 0;
  ::unsetenv(probe_variable);
  if (is_ours) return true;
  return fail(error_code::wire_malformed, probe_variable, "it does not say what this version of Troupe writes",
              "do not set it: it is for processes that Troupe starts");
}

}  // namespace troupe
