#pragma once

#include <cstddef>

#include "actors/caf.hpp"

namespace troupe {

/// The configuration of every actor system of Troupe. Control messages are few and short, so CAF has one worker thread,
/// which sleeps on a lock instead of polling: that takes the least time from the engines. CAF's network is not loaded:
/// runtime/link connects processes.
struct actor_config : caf::actor_system_config {
  actor_config() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{1});
  }
};

}  // namespace troupe
