#pragma once

#include <memory>

#include "actors/protocol.hpp"
#include "runtime/flow/stage_engine.hpp"

namespace troupe {

/// The actor of a stage engine: turns messages into its commands, and what it reports into messages.
struct stage_state {
  static inline const char* name = "stage";
  std::shared_ptr<stage_engine> engine;
  aggregator_actor aggregator;
};

stage_actor::behavior_type stage(stage_actor::stateful_pointer<stage_state> self, std::shared_ptr<stage_engine> engine,
                                 const director_actor& director, aggregator_actor aggregator);

/// What the engine reports, as messages to its actor. Set before the engine's first step (an actor's own body may run
/// later than its spawn). The engine must outlive the listener.
stage_listener report_to(const stage_actor& stage, const stage_engine& engine, incarnation_number incarnation = 0);

}  // namespace troupe
