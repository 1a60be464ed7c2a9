#pragma once

#include <memory>

#include "actors/protocol.hpp"

namespace troupe {

/// The actor of the loader engine: turns messages into its commands, and what it reports into messages.
struct loader_state {
  static inline const char* name = "loader";
  std::shared_ptr<loader_engine> engine;
  aggregator_actor aggregator;
};

loader_actor::behavior_type loader(loader_actor::stateful_pointer<loader_state> self,
                                   std::shared_ptr<loader_engine> engine, director_actor director,
                                   aggregator_actor aggregator);

/// What the engine reports, as messages to its actor. Set before the engine's first step (an actor's own body may run
/// later than its spawn). The engine must outlive the listener.
loader_listener report_to(const loader_actor& loader, const loader_engine& engine);

}  // namespace troupe
