#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "messages/failure.hpp"
#include "messages/limits.hpp"
#include "messages/score.hpp"
#include "runtime/device/device_context.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/flow/command_queue.hpp"
#include "runtime/flow/engine.hpp"
#include "runtime/flow/engine_wiring.hpp"
#include "runtime/flow/fan_out.hpp"
#include "runtime/flow/gather.hpp"
#include "runtime/flow/score_batcher.hpp"
#include "runtime/flow/stage_body.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace troupe {

/// What an actor may ask of its stage engine; taken up between two micro-batches.
namespace stage_command {
/// Before the call's first micro-batch is loaded. Engines without sinks that are handed micro-batches from 0 on need
/// none.
struct open_call {
  call_number call = 0;
  /// Index of the call's first micro-batch.
  std::uint64_t first = 0;
  /// One per sink of the engine, in the order of stage_engine_options::sinks.
  std::vector<std::shared_ptr<scorer>> scorers;
};
/// The call is complete: its scorer goes. Any later micro-batch of the call is a replay, and dropped.
struct release_call {
  call_number call = 0;
};
/// Drop every micro-batch of the call, held or to come.
struct cancel_call {
  call_number call = 0;
};
/// A new epoch: micro-batches in work and in the old edges are dropped, these edges end without a word, and the new
/// ones bring everything from `from` on, what was received before included.
struct start_epoch {
  std::shared_ptr<engine_wiring> edges;
  micro_batch_id from;
};
/// Drop everything, close all edges, finish. (Without it an engine finishes when its inbound edges are exhausted.)
struct stop {};
}  // namespace stage_command
using stage_command_t = std::variant<stage_command::open_call, stage_command::release_call, stage_command::cancel_call,
                                     stage_command::start_epoch, stage_command::stop>;

/// What a stage engine tells its actor. Called from the engine's thread; must not block.
struct stage_listener {
  /// The body has started: forwards can come.
  std::function<void()> on_ready;
  std::function<void(std::vector<score>)> on_scores;
  /// A forward failed limits::forward_attempts_max times, or a score could not be made: the engine has dropped the
  /// micro-batch, drops the rest of its call from now on, and goes on working.
  std::function<void(failure)> on_failure;
  std::function<void()> on_finished;
};

struct stage_engine_options {
  std::string name;
  stage_address address;
  std::uint32_t num_pipe_buffers = limits::pipe_buffers_default;
  /// The sinks that score outputs of this node; a node without any sends all of them downstream.
  std::vector<std::uint32_t> sinks = {};
  /// Which output each of them scores; empty: output 0.
  std::vector<std::uint32_t> sink_ports = {};
  std::size_t outputs = 1;
  gather_options inputs = {};
  /// Fed by a loader: its takes are LoadMicroBatch, those of all others RecvActivation.
  bool is_first = true;
  /// Numbers the trace of the run; null records none. Must outlive the engine.
  trace_clock* trace = nullptr;
  clock_function now = steady_now;
  /// Fresh, in memory that other processes have mapped; null: the engine makes one of its own.
  std::shared_ptr<engine_page> shared_page = nullptr;
};

/// The body of a stage actor: receive -> run -> score, send as a state machine, one micro-batch at a time, free of CAF
/// and of LibTorch. The same for stages, joins and routes: they differ in their bodies and in how many ports they have.
///
///   receiving --a part from every input--> (run, score) --> sending --room on every branch--> receiving
///                                                  \--(no branch)---------------------------> receiving
///   any state --inbound exhausted, or stop--> finished
///
/// The inbound slots are in use from the receive until the outputs have been sent (or scored): their release is the
/// credit. An empty part is passed on without a run.
///
/// A body may say after a run that a device is still at work on the outputs (stage_body::outputs_ready). The
/// micro-batch is then in flight: the engine takes the next ones, as many as the stage has buffers and
/// limits::forwards_in_flight_max allows, and scores and sends each, in order, once its event has passed. Nothing that
/// is not ready leaves the engine. A stop waits for micro-batches in flight, since the device reads and writes their
/// tensors (`stopping`).
class stage_engine final : public engine {
 public:
  stage_engine(stage_engine_options options, std::shared_ptr<stage_body> body);

  // Wiring, before the first step or by stage_command::start_epoch. At least one inbound edge per port; a branch per
  // node downstream, unless the engine serves a sink. Without any the engine waits.
  void add_inbound(std::unique_ptr<edge_consumer> edge, std::size_t port = 0) {
    inbound_.add_edge(port, std::move(edge));
  }
  [[nodiscard]] fan_out& outbound() noexcept { return outbound_; }
  void listen(stage_listener listener) { listener_ = std::move(listener); }

  /// From any thread. False if the queue is full (limits::commands_queued_max).
  [[nodiscard]] bool command(stage_command_t command) { return commands_.push(std::move(command)); }
  /// stage_command::stop, also where the queue is full. From any thread.
  void stop() { commands_.push_end(stage_command::stop{}); }

  [[nodiscard]] step_result step() override;
  [[nodiscard]] doorbell& bell() noexcept override { return bell_; }
  void on_thread_start() override;
  [[nodiscard]] const std::string& name() const noexcept override { return options_.name; }
  [[nodiscard]] std::chrono::nanoseconds park_limit() const noexcept override;

  [[nodiscard]] const stage_counters& counters() const noexcept { return page_->counters; }
  [[nodiscard]] std::shared_ptr<const engine_page> page() const noexcept { return page_; }
  /// For edge_site::arrived_bytes.
  [[nodiscard]] std::shared_ptr<std::atomic<std::uint64_t>> arrived_bytes() const noexcept {
    return {page_, &page_->arrived_bytes};
  }
  [[nodiscard]] stage_address address() const noexcept { return options_.address; }
  /// Once the engine has finished; null if none was asked for.
  [[nodiscard]] const trace_recorder* trace() const noexcept { return trace_ ? &*trace_ : nullptr; }
  [[nodiscard]] const std::vector<std::uint32_t>& sinks() const noexcept { return options_.sinks; }

 private:
  void cannot_start(const std::string& why);
  enum class phase : std::uint8_t { receiving, sending, stopping, finished };
  /// One micro-batch on its way through; kept from one to the next for its memory.
  struct work {
    std::vector<activation> inputs;
    std::vector<activation> outputs;
    /// gather::last_take().
    std::uint64_t take = 0;
    std::uint32_t buffer = 0;
    /// The stage waited for it, and has time until the next one.
    bool was_awaited = false;

    [[nodiscard]] micro_batch_id id() const { return inputs.front().id; }
  };
  /// Its outputs are ready when the event has passed; null: they are.
  struct flying_work {
    work what;
    std::shared_ptr<context_event> ready;
    /// Its slots went back, and its outputs go nowhere.
    bool is_dropped = false;
  };

  bool take_up_command();
  void handle(stage_command::open_call&& command);
  void handle(const stage_command::release_call& command);
  void handle(const stage_command::cancel_call& command);
  void handle(stage_command::start_epoch&& command);
  void handle(const stage_command::stop& command);

  step_result receive();
  [[nodiscard]] bool has_room_in_flight() const noexcept;
  void show_work(micro_batch_id id);
  [[nodiscard]] bool land_oldest();
  void drop_flying();
  step_result send();
  [[nodiscard]] expected<fan_out::outcome> try_send();
  void take_up();
  [[nodiscard]] bool is_wanted();
  void compute();
  void conclude(bool is_fine, std::chrono::nanoseconds ran);
  void begin_sending();
  [[nodiscard]] bool is_over(call_number call) const;
  [[nodiscard]] expected<void> run_with_retry();
  [[nodiscard]] expected<void> try_run();
  void prepare_outputs();
  [[nodiscard]] expected<void> check_outputs() const;
  void score_outputs();
  [[nodiscard]] expected<score> score_for(std::size_t sink_index, scorer& by);
  void report(error cause, std::uint32_t attempts);
  void done();
  [[nodiscard]] bool scores() const noexcept { return !options_.sinks.empty(); }

  bool pass_on_flush(std::optional<call_number> before);
  void add_to_batch(score next);
  bool flush_if_due();
  void flush();
  void finish();

  stage_engine_options options_;
  std::shared_ptr<stage_body> body_;
  const std::shared_ptr<engine_page> page_;
  doorbell bell_;
  command_queue<stage_command_t> commands_;
  stage_listener listener_;
  std::optional<trace_recorder> trace_;

  phase phase_ = phase::receiving;
  gather inbound_;
  fan_out outbound_;
  std::uint64_t taken_ = 0;
  work work_;
  bool waits_for_input_ = false;
  /// In the order of their takes.
  std::deque<flying_work> flying_;
  /// When the micro-batch whose work the page shows began; while others wait for room, none of those in flight.
  std::chrono::nanoseconds began_{0};
  bool is_oldest_shown_ = false;
  std::optional<call_number> flushed_through_;

  std::map<call_number, std::vector<std::shared_ptr<scorer>>> scorers_;
  std::set<call_number> cancelled_;
  score_batcher score_batcher_;
};

}  // namespace troupe
