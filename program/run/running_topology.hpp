#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "actors/call_ticket.hpp"
#include "actors/report_box.hpp"
#include "actors/workers/worker_setup.hpp"
#include "messages/lifecycle.hpp"
#include "runtime/wiring/assembly.hpp"

namespace troupe {

class launched_nodes;

/// A topology that runs in this process: actor system, director, engines on their threads. The thread that made it
/// submits calls and stops it; any number of threads may submit.
class running_topology {
 public:
  /// Starts the actors and engines of an assembly (which no one else may touch from now on, but for its counters).
  /// `faults`, where there are some, are injected into the run.
  [[nodiscard]] static std::unique_ptr<running_topology> start(assembly engines,
                                                               std::shared_ptr<fault_injector> faults = nullptr);
  /// The same, with the stages in worker processes and the faults that `workers` says; their engines are not in the
  /// assembly. They live on this host, or on the nodes of `launch`. Returns before the workers have started; one that
  /// cannot start ends the first call. E0601, E0614, E0707.
  [[nodiscard]] static expected<std::unique_ptr<running_topology>> start(assembly engines,
                                                                         std::shared_ptr<worker_setup> workers,
                                                                         launched_nodes* launch);

  running_topology(const running_topology&) = delete;
  running_topology& operator=(const running_topology&) = delete;
  /// Stops at once if stop() has not been called.
  ~running_topology();

  /// Queues a call behind those before it; at most limits::calls_queued_max may be open (else the outcome is E0613).
  /// The future is always fulfilled, at the latest by stop().
  [[nodiscard]] std::future<call_outcome> submit(const call_ticket_ptr& ticket);
  /// Ends all queued calls after what has been loaded of them.
  void cut_calls();
  /// Everything of the call is dropped, and its outcome names the cause; nothing happens if it has ended.
  void cancel(const call_ticket_ptr& ticket, const error& cause);

  /// Closes the entrance, drains or drops, joins the engines' threads, ends the actors. False if that took longer than
  /// `at_most`: a stage is stuck in its forward, which nothing can interrupt. Its thread and all it uses are then left
  /// to the end of the process. Workers can be killed, and none is stuck; the system may take up to
  /// limits::worker_reap_time_at_exit more to end them. May follow a drain that is under way with an abort.
  [[nodiscard]] bool stop(stop_mode mode, std::chrono::nanoseconds at_most);
  /// Asks for a stop and does not wait.
  void request_stop(stop_mode mode);

  /// To be called now and then by threads that wait for a call: reports stalled stages in the log, has lost work sent
  /// again, and ends the workers of stages that have passed worker_options::forward_deadline. While one thread looks,
  /// the others come back at once.
  void watch();

  /// What the memory that was handed to a stage holds now, on whichever node its worker is or was, also after a failure
  /// of the run: so many bytes as it has. E0618 where that node is lost, E0614.
  [[nodiscard]] expected<std::size_t> read_state(stage_address at, const blob& memory, std::uint64_t offset,
                                                 std::span<std::byte> into) const;
  /// What stages have done, with the counters of other nodes' stages as they are now.
  [[nodiscard]] std::vector<stage_usage> usage();
  /// Null without faults.
  [[nodiscard]] fault_injector* faults() const noexcept { return faults_.get(); }
  [[nodiscard]] report_box& reports() noexcept { return *reports_; }
  [[nodiscard]] const assembly& engines() const noexcept { return *engines_; }

 private:
  struct impl;
  explicit running_topology(std::unique_ptr<impl> state);

  std::shared_ptr<assembly> engines_;
  std::shared_ptr<report_box> reports_;
  std::shared_ptr<fault_injector> faults_;
  /// Orders submit() before or after a stop request: what comes after is refused here, as the director may be gone.
  std::mutex entrance_;
  bool closed_ = false;
  /// Held while one looks after the run, and while the end takes it away.
  std::mutex looking_;
  std::unique_ptr<impl> impl_;
};

}  // namespace troupe
