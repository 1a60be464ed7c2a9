#pragma once

#include <cstddef>

#include "actors/caf.hpp"

namespace troupe {

/// The configuration of every actor system here. Control messages are few and short: one worker, that sleeps on a lock
/// instead of polling, takes the least from the engines. CAF's network is not loaded: processes are linked by
/// runtime/link.
struct actor_config : caf::actor_system_config {
  actor_config() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{1});
  }
};

}  // namespace troupe
