#pragma once

#include <memory>

#include "actors/protocol.hpp"

namespace troupe {

/// State of the loader actor.
struct loader_state {
  static inline const char* name = "loader";
  std::shared_ptr<loader_engine> engine;
  aggregator_actor aggregator;
};

/// The loader actor stands in front of the loader engine. It queues the director's messages as commands of the engine,
/// which does not block; a full queue is a failure for the director. The aggregator's low-water mark goes to the
/// engine. What the engine reports goes on to the director, the size of a call to the aggregator. The actor ends when
/// the director sends it an exit, or by an error; the engine lives on, and the director gives it a new actor.
loader_actor::behavior_type loader(loader_actor::stateful_pointer<loader_state> self,
                                   std::shared_ptr<loader_engine> engine, const director_actor& director,
                                   aggregator_actor aggregator);

/// A listener that sends each report of `engine` to the loader actor, from the engine's thread. The director sets it:
/// for the first actor before the engine's first step, for a later one by the command loader_command::listen. The actor
/// itself could be late, as CAF runs its function some time after spawn(). The listener holds the actor weakly and
/// sends nothing once the actor has ended. The engine must outlive the listener.
loader_listener report_to(const loader_actor& loader, const loader_engine& engine);

}  // namespace troupe
