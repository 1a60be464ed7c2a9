#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/limits.hpp"
#include "messages/score.hpp"
#include "runtime/device/device_context.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/flow/command_queue.hpp"
#include "runtime/flow/compute_engine.hpp"
#include "runtime/flow/fan_out.hpp"
#include "runtime/flow/gather.hpp"
#include "runtime/flow/score_batcher.hpp"
#include "runtime/flow/stage_body.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace troupe {

struct stage_engine_options {
  std::string name;
  stage_address address;
  std::uint32_t num_pipe_buffers = limits::pipe_buffers_default;
  /// The sinks that score outputs of this node. A node without sinks sends all its outputs downstream.
  std::vector<std::uint32_t> sinks = {};
  /// By sink, the output that it scores. Empty: every sink scores output 0.
  std::vector<std::uint32_t> sink_ports = {};
  std::size_t outputs = 1;
  gather_options inputs = {};
  /// The loader feeds this stage. In the trace its takes are LoadMicroBatch; those of other stages are RecvActivation.
  bool is_first = true;
  /// Numbers the events of the trace; null: no trace is recorded. It outlives the engine.
  trace_clock* trace = nullptr;
  clock_function now = steady_now;
  /// A fresh page, in memory that other processes have mapped; null: the engine makes a page of its own.
  std::shared_ptr<engine_page> shared_page = nullptr;
};

/// The engine of a stage that evaluates: it receives a micro-batch, runs the body, scores the outputs or sends them,
/// and goes on to the next micro-batch. Stages, joins and routes have the same engine; they differ in their bodies and
/// in the number of their ports.
///
///   receiving --every input has its part--> (run, score) --> sending --every branch has room--> receiving
///                                                   \--no branch------------------------------> receiving
///   receiving --all inbound edges exhausted--> finished
///   receiving, sending --stop--> finished;   with micro-batches in flight: stopping --the last has landed--> finished
///
/// The engine uses the inbound slots of a micro-batch until its outputs have been sent or scored. Their release is the
/// credit of the sender. A micro-batch of which this stage gets an empty part is passed on without a run.
///
/// A body may say after a run that a device is still at work on the outputs (stage_body::outputs_ready). The
/// micro-batch is then in flight, and the engine takes the next one. The number in flight is bounded by the buffers of
/// the stage and by limits::forwards_in_flight_max. Once the event of the oldest has passed, the engine scores and
/// sends its outputs. A stop waits for micro-batches in flight, because the device reads and writes their tensors.
class stage_engine final : public compute_engine {
 public:
  stage_engine(stage_engine_options options, std::shared_ptr<stage_body> body);

  // Edges, for tests that wire an engine before its first step: at least one inbound edge per port, and a branch per
  // node downstream.
  void add_inbound(std::unique_ptr<edge_consumer> edge, std::size_t port = 0) {
    inbound_.add_edge(port, std::move(edge));
  }
  [[nodiscard]] fan_out& outbound() noexcept { return outbound_; }

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
  enum class phase : std::uint8_t { receiving, sending, stopping, finished };
  /// The micro-batch in work. The engine has one object for all, so that the memory of its vectors is reused.
  struct work {
    std::vector<activation> inputs;
    std::vector<activation> outputs;
    /// gather::last_take().
    std::uint64_t take = 0;
    std::uint32_t buffer = 0;
    /// The stage was idle before it came, so that it may do the work of an edge's thread while it sends.
    bool was_awaited = false;

    [[nodiscard]] micro_batch_id id() const { return inputs.front().id; }
  };
  /// A micro-batch in flight. Its outputs are ready when the event has passed, or at once where the event is null.
  struct flying_work {
    work what;
    std::shared_ptr<context_event> ready;
    /// Its inbound slots were released, and its outputs are not sent or scored.
    bool is_dropped = false;
  };

  bool take_up_command();
  void handle(stage_command::open_call&& command);
  void handle(const stage_command::release_call& command);
  void handle(const stage_command::cancel_call& command);
  void handle(stage_command::start_epoch&& command);
  void handle(const stage_command::decide_step& command);
  void handle(stage_command::listen&& command);
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
  /// In the order in which they were taken.
  std::deque<flying_work> flying_;
  /// When the work on the micro-batch that the page shows began. Nothing while the page shows none: between two
  /// micro-batches, and for one in flight from the end of the one before it to the next look at it.
  std::optional<std::chrono::nanoseconds> shown_since_;
  std::optional<call_number> flushed_through_;

  std::map<call_number, std::vector<std::shared_ptr<scorer>>> scorers_;
  std::set<call_number> cancelled_;
  score_batcher score_batcher_;
};

}  // namespace troupe
