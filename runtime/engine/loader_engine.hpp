#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <troupe/messages/end_of_call.hpp>
#include <troupe/messages/failure.hpp>
#include <troupe/runtime/edge/edge.hpp>
#include <troupe/runtime/engine/command_queue.hpp>
#include <troupe/runtime/engine/engine.hpp>
#include <troupe/runtime/engine/fan_out.hpp>
#include <troupe/runtime/engine/low_water_cell.hpp>
#include <troupe/runtime/engine/micro_batch_source.hpp>

namespace troupe {

/// What a face may ask of the loader engine.
namespace loader_command {
/// Queue a call: its micro-batches follow those of the calls before it, without a drain between them.
struct begin_call {
  call_number call = 0;
  std::shared_ptr<micro_batch_source> source;
};
/// Send no more of this call and keep nothing of it.
struct cancel_call {
  call_number call = 0;
};
/// End every queued call after what has been sent of it, which may be nothing: the drain of an interrupted run.
struct cut_calls {};
/// Send again what is not folded: all of it, or what went to one replica of the first branch. Receivers drop what they
/// had before.
struct replay {
  std::optional<replica_index> replica;
};
/// Close all edges and finish; what was sent is still worked off downstream.
struct stop {};
}  // namespace loader_command
using loader_command_t = std::variant<loader_command::begin_call, loader_command::cancel_call,
                                      loader_command::cut_calls, loader_command::replay, loader_command::stop>;

/// What the loader engine tells its face. Called from the engine's thread; must not block.
struct loader_listener {
  /// All micro-batches of the call have been sent, and this is how many.
  std::function<void(end_of_call)> on_end_of_call;
  /// The source failed: the call sends no more. The engine goes on working.
  std::function<void(failure)> on_failure;
  std::function<void()> on_finished;
};

struct loader_counters {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> replayed{0};
  /// Most micro-batches that were ever kept at once: the memory bound that the window promises.
  std::atomic<std::uint64_t> kept_max{0};
};

struct loader_engine_options {
  std::string name = "loader";
  stage_address address;
  /// Micro-batches that may be sent and not folded; at least 1. See window_for().
  std::uint64_t window = 1;
};

/// All buffers of all replicas plus one batch of scores on the way and one in the aggregator's hands.
std::uint64_t window_for(std::uint64_t slots_of_all_edges);

/// Reads, decodes and sends ahead of the stages, on its own thread. Keeps each micro-batch it sent until the low-water
/// mark passes it, and sends only while fewer than `window` are kept: credits alone do not bound what is in flight.
/// Every branch (a node that it feeds) gets every micro-batch; of its replicas, unless they are fixed, the one with the
/// most free slots.
class loader_engine final : public engine {
 public:
  explicit loader_engine(loader_engine_options options);

  // Wiring, before the first step.
  [[nodiscard]] fan_out& outbound() noexcept { return outbound_; }
  void listen(loader_listener listener) { listener_ = std::move(listener); }

  /// From any thread. False if the queue is full (limits::commands_queued_max).
  [[nodiscard]] bool command(loader_command_t command) { return commands_.push(std::move(command)); }

  /// From any thread. Everything below `mark` is folded: what was kept of it goes, at the latest when the window is
  /// full.
  void low_water(micro_batch_id mark) { low_water_.publish(mark); }

  [[nodiscard]] step_result step() override;
  [[nodiscard]] doorbell& bell() noexcept override { return bell_; }
  [[nodiscard]] const std::string& name() const noexcept override { return options_.name; }
  [[nodiscard]] const loader_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] stage_address address() const noexcept { return options_.address; }

 private:
  struct queued_call {
    call_number call = 0;
    std::shared_ptr<micro_batch_source> source;
    std::uint64_t next_index = 0;
  };
  struct kept {
    activation message;
    /// Of the first branch.
    std::size_t replica = 0;
    bool to_resend = false;
  };

  void handle(loader_command::begin_call&& command);
  void handle(const loader_command::cancel_call& command);
  void handle(const loader_command::cut_calls& command);
  void handle(const loader_command::replay& command);
  void handle(const loader_command::stop& command);

  void forget_below(micro_batch_id mark);
  step_result resend();
  step_result load();
  step_result send();
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> read_next();
  void end_current_call();
  void fail_current_call(error cause);

  loader_engine_options options_;
  doorbell bell_;
  command_queue<loader_command_t> commands_;
  low_water_cell low_water_;
  loader_listener listener_;
  loader_counters counters_;

  fan_out outbound_;
  std::deque<queued_call> calls_;
  /// Read ahead: decoded while no replica has room.
  std::optional<activation> loaded_;
  std::deque<kept> kept_;
  std::uint64_t to_resend_ = 0;
  bool finished_ = false;
};

}  // namespace troupe
