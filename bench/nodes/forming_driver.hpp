#pragma once

#include "formation.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe::bench {

/// The driver of a launch, without the launch: authority, tickets, listener, agents. Says to `agents` one line per
/// ticket, and then one line of six numbers, formation_figures in their order; ends when the other end has closed.
/// Throws formation_failure, if an agent is not ready within --join-timeout or is lost later.
void run_driver(const formation& asked, unique_fd agents);

}  // namespace troupe::bench
