#pragma once

#include <string>
#include <vector>

namespace troupe {

/// With argv[0], as the kernel has them: a worker is the same program with the same arguments.
[[nodiscard]] std::vector<std::string> own_arguments();

}  // namespace troupe
