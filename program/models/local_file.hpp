#pragma once

#include <string>

namespace troupe {

/// Where this process finds a file: at its path; or, in a worker of a node that does not have it, where the node's
/// agent has put what the driver sent. The path itself if it is nowhere. Threads: any.
[[nodiscard]] std::string local_file(const std::string& path);

}  // namespace troupe
