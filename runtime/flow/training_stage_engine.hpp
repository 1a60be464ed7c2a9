#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/limits.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/flow/command_queue.hpp"
#include "runtime/flow/compute_engine.hpp"
#include "runtime/flow/fan_out.hpp"
#include "runtime/flow/peer_exchange.hpp"
#include "runtime/flow/score_batcher.hpp"
#include "runtime/flow/step_progress.hpp"
#include "runtime/flow/training_body.hpp"
#include "runtime/flow/training_calls.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace troupe {

struct training_stage_engine_options {
  std::string name;
  /// Its stage is the place in the chain: the loader feeds stage 0.
  stage_address address;
  /// Of the chain; address.stage is below it.
  std::uint32_t stages = 1;
  /// Of this stage; address.replica is below it.
  std::uint32_t replicas = 1;
  /// The buffers that the trace names, in turn. At least live_micro_batches_max(), else that many.
  std::uint32_t num_pipe_buffers = limits::pipe_buffers_default;
  /// The sinks that score the outputs of the last stage, in steps and evaluations. Other stages have none.
  std::vector<std::uint32_t> sinks = {};
  /// Numbers the events of the trace; null: no trace is recorded. It outlives the engine.
  trace_clock* trace = nullptr;
  clock_function now = steady_now;
  /// A fresh page, in memory that other processes have mapped; null: the engine makes a page of its own.
  std::shared_ptr<engine_page> shared_page = nullptr;
};

/// The engine of one replica of a stage that trains (docs/decisions/0044), in a chain of stages. It works its calls off
/// in their order. An evaluation goes as in stage_engine. In a step, step_progress says what comes next.
///
///   choosing --input of the next forward is here--> (forward, score) --> sending_outputs --room--> choosing
///                                                           \--last stage------------------------> choosing
///   choosing --gradient of the oldest live micro-batch is here--> (backward) --> sending_gradient --room--> choosing
///                                                           \--first stage-----------------------> choosing
///   choosing --both passes of the whole call are done--> exchanging --sums of all peers are here--> (finish, vote)
///   (vote) --> awaiting_decision --decide_step--> (apply) --> choosing
///   any --cancel_call or start_epoch--> choosing, or awaiting_decision of a step before the first call of the epoch
///   any --stop--> finished;   choosing --the inbound edge is exhausted in the middle of no step--> finished
///
/// A live micro-batch keeps its inbound slot until its gradient has been sent. What waits to be sent is one output or
/// one gradient, and meanwhile the engine does not compute. A micro-batch of which this stage gets an empty part is
/// passed on both ways, and the body is not called.
///
/// Wiring: one inbound edge, with at least live_micro_batches_max() slots; one branch with one edge, which the last
/// stage has not; gradients_in except at the last stage and gradients_out except at the first, of at least one slot;
/// a peer for each other replica, and one for each replica of each stage that shares parameters with this one.
///
/// Commands, beyond compute_engine.hpp:
///  - open_call comes for every call, and a step begins with index 0. `from` of an epoch has index 0 if it is in a
///  step.
///  - Of a step, decide_step or cancel_call counts, whichever comes first; the other one is ignored. So all stages must
///    be told in the same order.
///  - decide_step may come before or after start_epoch, also in the middle of a step that is being done anew: the
///    rest of that step is dropped then. If it comes for a call that this engine does not know, as at a new
///    incarnation, the body says whether it can be carried out. A new incarnation is told the newest decision before
///    start_epoch, or the step is open there.
///  - If `from` is behind a step that is open here, the engine waits for the decision of that step before it takes
///    anything of a later call.
///  - release_call of a step comes behind its decision or cancellation.
///
/// Failures: a forward is tried again once. If it, a backward pass, a score, the sum or finish() fails, the step is
/// cancelled here, and the weights stay as they are. If apply() fails, the stage cannot work at all, as the other
/// stages have changed their weights; if the decision is repeated, it is tried again, and until then nothing is
/// computed.
class training_stage_engine final : public compute_engine {
 public:
  training_stage_engine(training_stage_engine_options options, std::shared_ptr<training_body> body);

  void listen(stage_listener listener) override { listener_ = std::move(listener); }
  [[nodiscard]] bool command(stage_command_t command) override { return commands_.push(std::move(command)); }
  void stop() override { commands_.push_end(stage_command::stop{}); }

  [[nodiscard]] step_result step() override;
  [[nodiscard]] doorbell& bell() noexcept override { return bell_; }
  void on_thread_start() override;
  [[nodiscard]] const std::string& name() const noexcept override { return options_.name; }
  [[nodiscard]] std::chrono::nanoseconds park_limit() const noexcept override;

  [[nodiscard]] stage_address address() const noexcept override { return options_.address; }
  [[nodiscard]] const std::vector<std::uint32_t>& sinks() const noexcept override { return options_.sinks; }
  [[nodiscard]] const std::shared_ptr<engine_page>& page() const noexcept override { return page_; }
  [[nodiscard]] const trace_recorder* trace() const noexcept override { return trace_ ? &*trace_ : nullptr; }
  [[nodiscard]] const stage_counters& counters() const noexcept { return page_->counters; }

 private:
  enum class phase : std::uint8_t {
    choosing,
    sending_outputs,
    sending_gradient,
    exchanging,
    awaiting_decision,
    finished,
  };
  /// A micro-batch that uses an inbound slot.
  struct taken_micro_batch {
    activation input;
    std::uint32_t buffer = 0;
  };

  // training_stage_commands.cpp
  bool take_up_command();
  void handle(stage_command::open_call&& command);
  void handle(const stage_command::release_call& command);
  void handle(const stage_command::cancel_call& command);
  void handle(stage_command::start_epoch&& command);
  void handle(const stage_command::decide_step& command);
  void handle(stage_command::listen&& command);
  void handle(const stage_command::stop& command);
  void begin_front();
  void drop_work();
  void drop_head();
  void abandon_edges();
  void adopt(engine_wiring& edges);
  void close_edges();
  void finish();

  // training_stage_engine.cpp: what comes next, and sending
  step_result act();
  step_result evaluate_next();
  step_result forward_next();
  step_result backward_next();
  [[nodiscard]] bool take_head_of(call_number call);
  void fill_head();
  [[nodiscard]] std::optional<activation> take_gradient();
  void move_in(taken_micro_batch& into);
  void release(taken_micro_batch& taken);
  [[nodiscard]] std::optional<call_number> ended_through() const;
  [[nodiscard]] bool has_ended(call_number call) const;
  bool pass_on_flush();
  step_result rest();
  void begin_sending(phase what, taken_micro_batch& of);
  step_result send();
  [[nodiscard]] bool has_room_to_send() const;
  [[nodiscard]] expected<send_status> try_send();
  void has_sent();

  // training_stage_work.cpp: calls of the body, and what follows from them
  void compute_outputs(taken_micro_batch& taken);
  [[nodiscard]] bool run_forward(const activation& input);
  [[nodiscard]] expected<void> try_forward(const activation& input);
  void compute_gradient(taken_micro_batch& oldest, const std::optional<activation>& arrived);
  [[nodiscard]] expected<payload_ptr> try_backward(const activation& input, const std::optional<activation>& arrived);
  void begin_exchange();
  step_result exchange();
  void complete_step();
  void carry_out(const step_decision& decision);
  [[nodiscard]] bool score_outputs(const activation& input);
  bool flush_if_due();
  void flush();
  void report(error cause, const activation& input, std::uint32_t attempts);
  void report_step(error cause, call_number call);
  template <class Run>
  auto on_page(micro_batch_id id, Run run);
  void trace(instruction_kind what, micro_batch_id id, std::uint32_t buffer = 0) {
    if (trace_) trace_->record(what, id, buffer);
  }

  [[nodiscard]] bool is_first() const noexcept { return options_.address.stage == 0; }
  [[nodiscard]] bool is_last() const noexcept { return options_.address.stage + 1 == options_.stages; }
  [[nodiscard]] taken_micro_batch& live_at(std::uint64_t position) { return live_[position % live_.size()]; }

  training_stage_engine_options options_;
  std::shared_ptr<training_body> body_;
  const std::shared_ptr<engine_page> page_;
  doorbell bell_;
  command_queue<stage_command_t> commands_;
  stage_listener listener_;
  std::optional<trace_recorder> trace_;

  // The edges of the epoch.
  std::unique_ptr<edge_consumer> inbound_;
  fan_out outbound_;
  std::unique_ptr<edge_consumer> gradients_in_;
  std::unique_ptr<edge_producer> gradients_out_;
  peer_exchange exchange_;
  epoch_number epoch_ = 0;
  micro_batch_id from_;
  std::optional<call_number> flushed_through_;

  phase phase_ = phase::choosing;
  training_calls calls_;
  /// The call in work; all before it have passed. Null if there is none.
  training_calls::call* front_ = nullptr;
  step_progress progress_;
  /// A decision could not be carried out, so that the weights are not those that later calls need.
  bool is_behind_ = false;

  /// What has arrived and is not taken: of the front call while its turn has not come, or of a later one.
  std::optional<activation> head_;
  /// A ring: the micro-batch with the position p in its step is at p modulo the size.
  std::vector<taken_micro_batch> live_;
  taken_micro_batch evaluated_;
  /// Inbound slots of taken micro-batches.
  std::uint32_t slots_used_ = 0;
  std::uint64_t taken_ = 0;
  /// One output or gradient, from its computation until it is sent. It belongs to `in_hand_`.
  activation output_;
  taken_micro_batch* in_hand_ = nullptr;
  /// The engine was idle, so that it may do the work of an edge's thread while it sends.
  bool was_idle_ = false;
  bool was_awaited_ = false;
  const row_set_ptr no_rows_ = std::make_shared<const row_set>();
  score_batcher score_batcher_;
};

}  // namespace troupe
