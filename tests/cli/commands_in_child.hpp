#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace troupe::testing {

/// For program_call::body: the commands of `troupe`, linked into the test program.
inline int commands_in_child(const std::vector<std::string>& arguments) {
  return static_cast<int>(cli::run_process(arguments));
}

}  // namespace troupe::testing
