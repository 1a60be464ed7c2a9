#pragma once

#include <string>

#include "command.hpp"

namespace troupe::cli {

/// Becomes the program of this name that stands beside this one. `words` begin with argv[0]. It returns where that
/// fails, E0614.
tl::unexpected<error> become(const std::string& name, arguments words);

}  // namespace troupe::cli
