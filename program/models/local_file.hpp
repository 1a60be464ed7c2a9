#pragma once

#include <string>

namespace troupe {

/// The path under which this process finds a file that the driver knows as `path`. That is `path` itself, unless this
/// is a worker on a node without such a file: then it is the copy that the node's agent has got from the driver.
/// Returns `path` if there is no copy either. Threads: any.
[[nodiscard]] std::string local_file(const std::string& path);

}  // namespace troupe
