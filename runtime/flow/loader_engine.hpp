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

/// What the loader engine reports to its actor. The functions are called on the engine's thread and must not block.
struct loader_listener {
  /// All micro-batches of the call have been sent, and their number is known.
  std::function<void(call_size)> on_call_size;
  /// The source failed, and no more micro-batches of the call are sent. The engine goes on working.
  std::function<void(failure)> on_failure;
  /// The engine has paused. Names the first micro-batch that will be sent over the new edges; all micro-batches before
  /// it are folded or given up.
  std::function<void(loading_paused)> on_paused;
  std::function<void()> on_finished;
};

/// The commands of the loader engine, which it carries out between two micro-batches.
namespace loader_command {
/// The engine queues the call. Its micro-batches follow those of the calls before it, without a drain between them. Has
/// no effect for a call that was queued before.
struct open_call {
  call_number call = 0;
  std::shared_ptr<micro_batch_source> source;
  /// The index of the first micro-batch that the source gives. An earlier run has folded those before it.
  std::uint64_t first = 0;
};
/// The engine sends no more micro-batches of this call, and keeps none.
struct cancel_call {
  call_number call = 0;
};
/// Cancels all calls but these. For a new actor: orders to cancel may have been lost with the actor before it.
struct retain_calls {
  std::vector<call_number> calls;
};
/// Every queued call below `below` ends after the micro-batches that were sent. A micro-batch that some branches have
/// and others do not is sent to the others first. For the drain of an interrupted run. May be repeated.
struct cut_calls {
  call_number below = 0;
};
/// The engine sends nothing from now on, and forgets no micro-batch that it may have to send again. The answer is
/// loader_listener::on_paused. May be repeated.
struct pause {
  epoch_number round = 0;
};
/// A new epoch begins. The engine abandons the old edges and sends every micro-batch that it keeps over the new ones,
/// with the flushes between them, and then goes on loading. For every call that was loaded to its end and may not be
/// folded yet, it reports again how the loading ended.
struct start_epoch {
  std::shared_ptr<engine_wiring> edges;
};
/// The engine reports to this listener from now on, because the actor before is gone.
struct listen {
  loader_listener listener;
};
/// The engine closes all edges and finishes. Micro-batches that were sent are still worked off downstream.
struct stop {};
}  // namespace loader_command
using loader_command_t = std::variant<loader_command::open_call, loader_command::cancel_call,
                                      loader_command::retain_calls, loader_command::cut_calls, loader_command::pause,
                                      loader_command::start_epoch, loader_command::listen, loader_command::stop>;

struct loader_counters {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> replayed{0};
  /// The greatest number of micro-batches that were sent and not folded at the same time. The window bounds it.
  std::atomic<std::uint64_t> kept_max{0};
};

struct loader_engine_options {
  std::string name = "loader";
  stage_address address;
  /// How many micro-batches may be sent and not folded; at least 1. See window_for().
  std::uint64_t window = 1;
  /// The least number that the window holds, whatever their size (replay_window).
  std::uint64_t window_min = 1;
  /// The engine sends nothing before the first loader_command::start_epoch.
  bool paused = false;
  /// A page in memory that other processes have mapped; null: the engine makes a page of its own.
  std::shared_ptr<engine_page> shared_page = nullptr;
};

/// The loader's window: room for a micro-batch in every slot, for one batch of scores on its way and for another one
/// that the aggregator is folding.
std::uint64_t window_for(std::uint64_t slots_of_all_edges);

/// The engine that reads the data and sends micro-batches ahead of the stages, on its own thread. It can send each
/// micro-batch again until the low-water mark passes it. It sends only while its window has room, because credits do
/// not bound the number of micro-batches that are not folded. Every branch (a node that it feeds) gets every
/// micro-batch; which replica of the node gets it is said in branch_options.
///
///   paused --start_epoch--> loading --pause--> paused;   paused, loading --stop--> finished
class loader_engine final : public engine {
 public:
  explicit loader_engine(loader_engine_options options);

  // Edges, for tests that wire the engine before its first step; otherwise loader_command::start_epoch brings them.
  [[nodiscard]] fan_out& outbound() noexcept { return outbound_; }
  void listen(loader_listener listener) { listener_ = std::move(listener); }

  /// From any thread. False if the queue of commands is full (limits::commands_queued_max); the command is dropped
  /// then.
  [[nodiscard]] bool command(loader_command_t command) { return commands_.push(std::move(command)); }
  /// Gives the command loader_command::stop, for which the queue always has room. From any thread.
  void stop() { commands_.push_end(loader_command::stop{}); }

  /// All micro-batches below `mark` are folded, and the engine need not keep them. It drops a few whenever it sends
  /// one. From any thread.
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
    /// The call ends before its next micro-batch is loaded.
    bool cut = false;
  };
  struct loaded_one {
    activation message;
    std::uint64_t bytes = 0;
    /// Some branch has its part of the message, or had it in an earlier epoch: the message belongs to the call.
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
  /// The next micro-batch: it was read and decoded although no replica may have room for it yet.
  std::optional<loaded_one> loaded_;
  replay_window window_;
  std::deque<concluded> concluded_;
  /// All calls below it have been loaded to their end or were cancelled.
  call_number loaded_to_end_ = 0;
  /// All calls below it have been queued.
  call_number next_call_ = 0;
  /// The flushes of all calls below it were sent in this epoch.
  call_number flushed_ = 0;
  std::atomic<phase> phase_;
};

}  // namespace troupe
