#pragma once

#include <memory>

#include "runtime/edge/transport.hpp"
#include "runtime/telemetry/engine_page.hpp"

namespace troupe {

/// The edges of a worker whose node a fault plan may cut off from the others: those between nodes are silent, at either
/// end, as long as the worker's page says so. Edges within the node go on over shared memory; over tcp they are silent,
/// too.
[[nodiscard]] std::shared_ptr<transport> cut_off_edges(std::shared_ptr<transport> edges,
                                                       std::shared_ptr<const engine_page> page);

}  // namespace troupe
