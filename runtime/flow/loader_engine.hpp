#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messages/call_size.hpp"
#include "messages/failure.hpp"
#include "messages/lifecycle.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/flow/command_queue.hpp"
#include "runtime/flow/engine.hpp"
#include "runtime/flow/engine_wiring.hpp"
#include "runtime/flow/fan_out.hpp"
#include "runtime/ledger/handed_out.hpp"
#include "runtime/ledger/low_water_cell.hpp"
#include "runtime/ledger/micro_batch_source.hpp"
#include "runtime/ledger/replay_window.hpp"
#include "runtime/telemetry/engine_page.hpp"

namespace troupe {

/// What the loader engine tells its actor. Called from the engine's thread; must not block.
struct loader_listener {
  /// All micro-batches of the call have been sent, and this is how many.
  std::function<void(call_size)> on_call_size;
  /// The source failed: the call sends no more. The engine goes on working.
  std::function<void(failure)> on_failure;
  /// Paused; the first micro-batch that will be sent after the rewiring, all before it are folded or given up.
  std::function<void(loading_paused)> on_paused;
  std::function<void()> on_finished;
};

/// What an actor may ask of the loader engine.
namespace loader_command {
/// Queue a call: its micro-batches follow those of the calls before it, without a drain between them. One that was
/// queued before is not queued again.
struct open_call {
  call_number call = 0;
  std::shared_ptr<micro_batch_source> source;
  /// Index of the first that the source gives; those before were folded by an earlier run.
  std::uint64_t first = 0;
};
/// Send no more of this call and keep none of its micro-batches.
struct cancel_call {
  call_number call = 0;
};
/// Send no more of any call but these, and keep nothing of the others: an actor that is gone may have taken orders with
/// it.
struct retain_calls {
  std::vector<call_number> calls;
};
/// End every queued call below this one after its last sent micro-batch, if there is one: the drain of an interrupted
/// run. A half-sent micro-batch is still sent. May be repeated.
struct cut_calls {
  call_number below = 0;
};
/// Send and forget nothing from now on; answered by loader_listener::on_paused. May be repeated.
struct pause {
  epoch_number round = 0;
};
/// A new epoch: the old edges end without a word, everything that is kept is sent again over the new ones, each flush
/// at its place, and then loading goes on. How loading ended is reported again for every call that may not be folded
/// yet.
struct start_epoch {
  std::shared_ptr<engine_wiring> edges;
};
/// Report to this one from now on: the actor before it is gone.
struct listen {
  loader_listener listener;
};
/// Close all edges and finish; what was sent is still worked off downstream.
struct stop {};
}  // namespace loader_command
using loader_command_t = std::variant<loader_command::open_call, loader_command::cancel_call,
                                      loader_command::retain_calls, loader_command::cut_calls, loader_command::pause,
                                      loader_command::start_epoch, loader_command::listen, loader_command::stop>;

struct loader_counters {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> replayed{0};
  /// Most micro-batches that were ever sent and not folded at once: what the window bounds.
  std::atomic<std::uint64_t> kept_max{0};
};

struct loader_engine_options {
  std::string name = "loader";
  stage_address address;
  /// Micro-batches that may be sent and not folded; at least 1. See window_for().
  std::uint64_t window = 1;
  /// See replay_window.
  std::uint64_t window_min = 1;
  /// Wait for the first loader_command::start_epoch.
  bool paused = false;
  /// Its bell is there, in memory that other processes have mapped; null: the engine has one of its own.
  std::shared_ptr<engine_page> shared_page = nullptr;
};

/// All buffers of all replicas plus one batch of scores on the way and one in the aggregator's hands.
std::uint64_t window_for(std::uint64_t slots_of_all_edges);

/// Reads, decodes and sends ahead of the stages, on its own thread. Can send again each micro-batch until the low-water
/// mark passes it, and sends only while the window has room: credits alone do not bound unfolded micro-batches. Every
/// branch (a node that it feeds) gets every micro-batch; of its replicas, unless they are fixed, the one with the most
/// free slots.
class loader_engine final : public engine {
 public:
  explicit loader_engine(loader_engine_options options);

  // Wiring, before the first step or by loader_command::start_epoch.
  [[nodiscard]] fan_out& outbound() noexcept { return outbound_; }
  void listen(loader_listener listener) { listener_ = std::move(listener); }

  /// From any thread. False if the queue is full (limits::commands_queued_max).
  [[nodiscard]] bool command(loader_command_t command) { return commands_.push(std::move(command)); }
  /// loader_command::stop, also where the queue is full. From any thread.
  void stop() { commands_.push_end(loader_command::stop{}); }

  /// From any thread. All below `mark` is folded: the kept micro-batches go, little by little while more is sent.
  void low_water(micro_batch_id mark) { low_water_.publish(mark); }

  /// From any thread. True before on_finished is called.
  [[nodiscard]] bool finished() const noexcept { return phase_.load() == phase::finished; }

  /// The greatest mark so far. From any thread.
  [[nodiscard]] micro_batch_id low_water() { return low_water_.newest(); }

  [[nodiscard]] step_result step() override;
  [[nodiscard]] doorbell& bell() noexcept override { return bell_; }
  [[nodiscard]] const std::string& name() const noexcept override { return options_.name; }
  [[nodiscard]] const loader_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] stage_address address() const noexcept { return options_.address; }
  /// From any thread.
  [[nodiscard]] const handed_out& sent() const noexcept { return sent_; }

 private:
  enum class phase : std::uint8_t { paused, loading, finished };
  struct queued_call {
    call_number call = 0;
    std::shared_ptr<micro_batch_source> source;
    std::uint64_t next_index = 0;
    /// Ends before the next micro-batch is loaded.
    bool cut = false;
  };
  struct loaded_one {
    activation message;
    std::uint64_t bytes = 0;
    /// Some branch has, or had before a rewiring, its part of the message: it counts.
    bool counts = false;
  };
  /// How the loading of a call ended, kept until the low-water mark passes the call.
  struct concluded {
    call_size end;
    std::optional<failure> why;
  };

  void handle(loader_command::open_call&& command);
  void handle(const loader_command::cancel_call& command);
  void handle(const loader_command::retain_calls& command);
  void handle(const loader_command::cut_calls& command);
  void handle(const loader_command::pause& command);
  void handle(loader_command::start_epoch&& command);
  void handle(loader_command::listen&& command);
  void handle(const loader_command::stop& command);

  void set_low_water(micro_batch_id mark);
  [[nodiscard]] micro_batch_id first_to_send() const;
  step_result resend();
  void flush_calls_before(call_number call);
  void conclude(concluded call);
  void report(const concluded& call);
  step_result load();
  void drop_loaded();
  step_result send();
  [[nodiscard]] fan_out::outcome try_send(activation message);
  [[nodiscard]] fan_out::outcome give_up(micro_batch_id id, error cause);
  void end_current_call();
  void fail_current_call(error cause);

  loader_engine_options options_;
  const std::shared_ptr<engine_page> page_;
  doorbell bell_;
  command_queue<loader_command_t> commands_;
  low_water_cell low_water_;
  loader_listener listener_;
  loader_counters counters_;
  handed_out sent_;

  fan_out outbound_;
  std::deque<queued_call> calls_;
  /// Read ahead: decoded while no replica has room.
  std::optional<loaded_one> loaded_;
  replay_window window_;
  std::deque<concluded> concluded_;
  /// All calls below it have been loaded to their end, or never will be.
  call_number loaded_to_end_ = 0;
  /// All calls below it have been queued.
  call_number next_call_ = 0;
  /// The flushes of all calls below it were sent in this epoch.
  call_number flushed_ = 0;
  std::atomic<phase> phase_;
};

}  // namespace troupe
