#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <troupe/messages/failure.hpp>
#include <troupe/messages/limits.hpp>
#include <troupe/messages/score.hpp>
#include <troupe/runtime/edge/edge.hpp>
#include <troupe/runtime/engine/command_queue.hpp>
#include <troupe/runtime/engine/engine.hpp>
#include <troupe/runtime/engine/stage_body.hpp>
#include <troupe/runtime/trace/trace_recorder.hpp>

namespace troupe {

/// What a face may ask of its stage engine; taken up between two micro-batches.
namespace stage_command {
/// Last stages only, before the call's first micro-batch is loaded.
struct begin_call {
  call_number call = 0;
  /// One per sink of the stage, in the order of stage_engine_options::sinks.
  std::vector<std::shared_ptr<scorer>> scorers;
};
/// The call is complete: its scorer goes. Whatever still comes of it is a replay of something folded, and dropped.
struct forget_call {
  call_number call = 0;
};
/// Drop every micro-batch of the call, held or to come.
struct cancel_call {
  call_number call = 0;
};
/// Drop everything, close all edges, finish. (A drain needs no command: it follows the closing of the inbound edges.)
struct stop {};
}  // namespace stage_command
using stage_command_t = std::variant<stage_command::begin_call, stage_command::forget_call, stage_command::cancel_call,
                                     stage_command::stop>;

/// What a stage engine tells its face. Called from the engine's thread; must not block.
struct stage_listener {
  /// The body has started: forwards can come.
  std::function<void()> on_ready;
  std::function<void(std::vector<score>)> on_scores;
  /// A forward failed limits::forward_attempts_max times, or a score could not be made: the engine has dropped the
  /// micro-batch, drops the rest of its call from now on, and goes on working.
  std::function<void(failure)> on_failure;
  std::function<void()> on_finished;
};

/// Read by anyone, any time; written by the engine alone.
struct stage_counters {
  std::atomic<std::uint64_t> micro_batches{0};
  std::atomic<std::uint64_t> samples{0};
  /// Forward passes and, on a last stage, scoring.
  std::atomic<std::uint64_t> busy_ns{0};
  std::atomic<std::uint64_t> forward_ns{0};
};

using clock_function = std::function<std::chrono::nanoseconds()>;
std::chrono::nanoseconds steady_now();

struct stage_engine_options {
  std::string name;
  stage_address address;
  std::uint32_t num_pipe_buffers = limits::pipe_buffers_default;
  /// The sinks that this stage serves; empty for a stage whose outputs go downstream.
  std::vector<std::uint32_t> sinks;
  /// Fed by a loader: its takes are LoadMicroBatch, those of all others RecvActivation.
  bool is_first = true;
  /// Numbers the trace of the run; null records none. Must outlive the engine.
  trace_clock* trace = nullptr;
  clock_function now = steady_now;
};

/// The body of a stage actor: receive -> forward -> send (or score) as a state machine, one micro-batch at a time, free
/// of CAF and of LibTorch.
///
///   receiving --activation--> (forward) --> sending --slot downstream--> receiving
///                                  \--(last stage: score)--------------> receiving
///   any state --inbound exhausted, or stop--> finished
///
/// The inbound slot is in use from the receive until the output has been sent (or scored): its release is the credit.
class stage_engine final : public engine {
 public:
  stage_engine(stage_engine_options options, std::shared_ptr<stage_body> body);

  // Wiring, before the first step. At least one inbound edge; outbound edges unless the stage serves a sink. With
  // several outbound edges whoever has credit gets the micro-batch.
  void add_inbound(std::unique_ptr<edge_consumer> edge) { inbound_.push_back(std::move(edge)); }
  void add_outbound(std::unique_ptr<edge_producer> edge) { outbound_.push_back(std::move(edge)); }
  void listen(stage_listener listener) { listener_ = std::move(listener); }

  /// From any thread. False if the queue is full (limits::commands_queued_max).
  [[nodiscard]] bool command(stage_command_t command) { return commands_.push(std::move(command)); }

  [[nodiscard]] step_result step() override;
  [[nodiscard]] doorbell& bell() noexcept override { return bell_; }
  void on_thread_start() override;
  [[nodiscard]] const std::string& name() const noexcept override { return options_.name; }
  [[nodiscard]] std::chrono::nanoseconds park_limit() const noexcept override;

  [[nodiscard]] const stage_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] stage_address address() const noexcept { return options_.address; }
  /// Once the engine has finished; null if none was asked for.
  [[nodiscard]] const trace_recorder* trace() const noexcept { return trace_ ? &*trace_ : nullptr; }
  [[nodiscard]] const std::vector<std::uint32_t>& sinks() const noexcept { return options_.sinks; }

 private:
  enum class phase : std::uint8_t { receiving, sending, finished };
  struct in_work {
    activation message;
    std::size_t edge = 0;
    std::uint32_t buffer = 0;
  };

  bool take_up_command();
  void handle(stage_command::begin_call&& command);
  void handle(const stage_command::forget_call& command);
  void handle(const stage_command::cancel_call& command);
  void handle(const stage_command::stop& command);

  step_result receive();
  step_result send();
  void work(in_work work);
  [[nodiscard]] expected<payload_ptr> forward_with_retry(const in_work& work);
  [[nodiscard]] expected<payload_ptr> try_forward(const activation& input);
  void score_outputs(in_work& work, const payload_ptr& outputs);
  void report(const in_work& work, error cause, std::uint32_t attempts);
  void release(std::size_t edge);
  void drop_in_work();
  [[nodiscard]] bool is_last() const noexcept { return !options_.sinks.empty(); }

  bool pass_on_ended_calls();
  void hold_back(score next);
  bool flush_if_due();
  void flush();
  void finish();

  stage_engine_options options_;
  std::shared_ptr<stage_body> body_;
  doorbell bell_;
  command_queue<stage_command_t> commands_;
  stage_listener listener_;
  stage_counters counters_;
  std::optional<trace_recorder> trace_;

  phase phase_ = phase::receiving;
  std::vector<std::unique_ptr<edge_consumer>> inbound_;
  std::vector<std::unique_ptr<edge_producer>> outbound_;
  std::size_t next_inbound_ = 0;
  std::size_t next_outbound_ = 0;
  std::uint64_t taken_ = 0;
  std::optional<in_work> sending_;
  std::optional<call_number> ended_call_;

  std::map<call_number, std::vector<std::shared_ptr<scorer>>> scorers_;
  std::set<call_number> cancelled_;
  std::vector<score> held_back_;
  std::chrono::nanoseconds oldest_held_back_{0};
};

}  // namespace troupe
