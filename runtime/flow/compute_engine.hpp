#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "messages/failure.hpp"
#include "messages/limits.hpp"
#include "messages/score.hpp"
#include "messages/training.hpp"
#include "runtime/flow/engine.hpp"
#include "runtime/flow/engine_wiring.hpp"
#include "runtime/flow/stage_body.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace troupe {

/// What the engine of a stage reports. The functions are called on the engine's thread and must not block.
struct stage_listener {
  /// The body has started, and the engine can take edges.
  std::function<void()> on_ready;
  std::function<void(std::vector<score>)> on_scores;
  /// An engine that trains has computed its part of a step. All members are set but the incarnation, which the engine
  /// does not know. It comes behind all scores of the call.
  std::function<void(step_vote)> on_vote = nullptr;
  /// A forward failed limits::forward_attempts_max times, or a score could not be made. The engine has dropped the
  /// micro-batch, drops the rest of its call from now on, and goes on working. A failure without a micro-batch says
  /// that the engine cannot work at all.
  std::function<void(failure)> on_failure;
  std::function<void()> on_finished;
};

/// The commands of a stage's engine, which it carries out between two micro-batches.
namespace stage_command {
/// A call begins. The command comes before the call's first micro-batch is loaded. An engine without sinks whose
/// micro-batches begin with index 0 works without this command.
struct open_call {
  call_number call = 0;
  /// The index of the call's first micro-batch.
  std::uint64_t first = 0;
  /// One scorer per sink, in the order of compute_engine::sinks().
  std::vector<std::shared_ptr<scorer>> scorers;
  /// The call is a step of training, and not an evaluation. An engine that evaluates gets no such call.
  bool trains = false;
};
/// The decision of a step. Only an engine that trains gets it. In any order with start_epoch, and perhaps repeated.
struct decide_step {
  step_decision decision;
};
/// The call is complete, and the engine lets go of its scorers. A micro-batch of this call that still arrives is a
/// replay, and is dropped.
struct release_call {
  call_number call = 0;
};
/// The engine drops every micro-batch of the call that it holds or that arrives later.
struct cancel_call {
  call_number call = 0;
};
/// A new epoch begins. The engine drops the micro-batches in work, abandons its edges with whatever is on them, and
/// goes on with the new edges. These bring every micro-batch from `from` on, also those that were received before.
struct start_epoch {
  std::shared_ptr<engine_wiring> edges;
  micro_batch_id from;
  /// The votes of an engine that trains have it.
  epoch_number epoch = 0;
};
/// The engine reports to this listener from now on.
struct listen {
  stage_listener listener;
};
/// The engine drops all micro-batches, closes all edges and finishes. Without this command it finishes when its inbound
/// edges are exhausted.
struct stop {};
}  // namespace stage_command
using stage_command_t =
    std::variant<stage_command::open_call, stage_command::release_call, stage_command::cancel_call,
                 stage_command::start_epoch, stage_command::decide_step, stage_command::listen, stage_command::stop>;

/// The engine of one stage replica, as the actors know it: they command it, hear its reports and read its page. What it
/// computes, and in which order it takes inputs and sends outputs, is the business of the class that implements it
/// (stage_engine for evaluation, training_stage_engine for training). An engine is wired by stage_command::start_epoch,
/// and waits until then.
class compute_engine : public engine {
 public:
  /// Sets the listener before the first step; later the command stage_command::listen does.
  virtual void listen(stage_listener listener) = 0;

  /// From any thread. False if the queue of commands is full (limits::commands_queued_max); the command is dropped
  /// then.
  [[nodiscard]] virtual bool command(stage_command_t command) = 0;
  /// Gives the command stage_command::stop, for which the queue always has room. From any thread.
  virtual void stop() = 0;

  /// The next micro-batch of a stage usually comes within microseconds.
  [[nodiscard]] std::chrono::nanoseconds spin_budget() const noexcept override { return limits::spin_budget; }

  [[nodiscard]] virtual stage_address address() const noexcept = 0;
  /// The sinks that score outputs of this stage, as positions in wiring_plan::sinks.
  [[nodiscard]] virtual const std::vector<std::uint32_t>& sinks() const noexcept = 0;
  /// What the engine does and has done. Any thread may read it, during the run and after the engine is gone.
  [[nodiscard]] virtual const std::shared_ptr<engine_page>& page() const noexcept = 0;
  /// The trace of the engine, to be read once it has finished; null if none was asked for.
  [[nodiscard]] virtual const trace_recorder* trace() const noexcept = 0;
};

}  // namespace troupe
