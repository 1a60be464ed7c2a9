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

/// The loader actor stands in front of the loader engine. It queues the director's messages as commands of the engine
/// and never waits for room: a full queue is a failure (E0613) for the director. The queue always has room for a
/// stop_request. The aggregator's low-water mark needs no queue: the engine has one cell for it and keeps
/// the greatest. The engine's reports go on to the director, except for the size of a call, which goes to the
/// aggregator.
///
/// The actor ends when the director sends it an exit, or by an exception in one of its functions. After an exception
/// the engine lives on, and the director gives it a new actor. Reports between the two actors are lost. The director
/// asks the engine for what it needs of them: finished() at once; call sizes and failures come again with the next
/// epoch, loading_paused with the next order to pause.
loader_actor::behavior_type loader(loader_actor::stateful_pointer<loader_state> self,
                                   std::shared_ptr<loader_engine> engine, const director_actor& director,
                                   aggregator_actor aggregator);

/// A listener that sends each report of `engine` to the loader actor, from the engine's thread. The director sets it:
/// for the first actor before the engine's first step, for a later one by the command loader_command::listen. The actor
/// cannot set it itself: CAF runs its function some time after spawn(), and the engine may have reported by then. The
/// listener holds the actor weakly and sends nothing once the actor has ended. `engine` is read in this call alone.
loader_listener report_to(const loader_actor& loader, const loader_engine& engine);

}  // namespace troupe
