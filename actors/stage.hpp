#pragma once

#include <memory>

#include "actors/protocol.hpp"
#include "runtime/flow/compute_engine.hpp"

namespace troupe {

/// The actor of a stage whose engine is in this process.
using local_stage_actor = stage_actor::extend<cast<start_stage_epoch>>;

/// State of the actor of a stage.
struct stage_state {
  static inline const char* name = "stage";
  std::shared_ptr<compute_engine> engine;
};

/// Turns messages into commands of the engine. The engine's reports do not pass through this actor: the engine's thread
/// sends them to the director, and the scores to the aggregator (report_to).
local_stage_actor::behavior_type stage(local_stage_actor::stateful_pointer<stage_state> self,
                                       std::shared_ptr<compute_engine> engine, const director_actor& director,
                                       incarnation_number incarnation);

/// A listener that sends what `engine` reports from the engine's thread. It holds both actors weakly, and what one of
/// them would get is dropped once that actor has ended. `engine` outlives the listener.
///
/// The scores of a dead aggregator are lost. The stage's actor gives the engine a new listener when it meets the next
/// aggregator, before the new epoch in which the loader sends all again that is not folded.
stage_listener report_to(const director_actor& director, const aggregator_actor& aggregator,
                         const compute_engine& engine, incarnation_number incarnation);

}  // namespace troupe
