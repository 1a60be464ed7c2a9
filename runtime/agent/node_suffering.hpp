#pragma once

#include <memory>

#include "messages/agent.hpp"
#include "runtime/agent/agent_workers.hpp"
#include "runtime/link/message_link.hpp"

namespace troupe {

/// Does to this process, and to its workers where the order says so, what a fault plan wants of its node. Returns after
/// a freeze, and at once where the node is cut off; not after a kill. E0614; E0702 for an order that cannot be.
[[nodiscard]] expected<void> suffer(const suffer_fault& what, const agent_workers& workers, message_link& driver);

}  // namespace troupe
