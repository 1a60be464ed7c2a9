#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/edge/tcp/expected_addresses.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Adds the addresses of nodes, which are host names or numeric addresses: numeric ones now, the others from a thread
/// of its own, which asks again for a name that does not resolve, until `until`. Returns when all are known, at the
/// latest after `wait`; the thread goes on meanwhile. E0614 where the system gives no thread.
[[nodiscard]] expected<void> find_nodes(const std::vector<std::string>& nodes,
                                        const std::shared_ptr<expected_addresses>& found,
                                        std::chrono::steady_clock::time_point until, std::chrono::milliseconds wait);

}  // namespace troupe
