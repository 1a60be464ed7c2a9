#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "runtime/agent_host/node_agent.hpp"

namespace troupe {

/// Files that workers of all these nodes can read once it returns: all nodes at the same time, file after file. The
/// first error of any node ends it (node_agent::provide); E0701 for more than limits::node_files_max.
[[nodiscard]] expected<void> provide_files(const std::vector<std::shared_ptr<node_agent>>& nodes,
                                           const std::vector<file_identity>& files,
                                           std::chrono::steady_clock::time_point deadline);

}  // namespace troupe
