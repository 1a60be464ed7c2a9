#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "messages/limits.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/process/child_process.hpp"
#include "runtime/process/process_listener.hpp"
#include "runtime/process/spawn.hpp"
#include "runtime/process/spawn_request.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Starts, watches and ends worker processes, none of which makes another one wait, on one thread that lives as long as
/// the host: the kernel ends a worker when the *thread* that forked it ends (PR_SET_PDEATHSIG), and so when the driver
/// dies in whatever way.
///
/// All functions may be called from any thread; start() and stop() not from a listener, which is called on the host's
/// thread. The process must neither ignore
/// SIGCHLD later on nor wait for children that it did not start: the way a worker ended is unknown otherwise.
class process_host {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// E0614 if the system gives no thread or descriptor. SIGCHLD is no longer ignored from then on, if it was.
  [[nodiscard]] static expected<std::unique_ptr<process_host>> create();

  process_host(const process_host&) = delete;
  process_host& operator=(const process_host&) = delete;
  /// SIGKILL for those that still run; returns when all are reaped and their listeners told, at most
  /// worker_reap_time_at_exit later.
  ~process_host();

  /// What became of a start: on the host's thread, before the listener is told anything. Must not wait.
  using start_result = std::function<void(const expected<worker_id>&)>;

  /// Returns at once. `told` is called once, with what start() returns.
  void start_soon(spawn_request request, std::shared_ptr<process_listener> listener, start_result told,
                  time_point deadline = std::chrono::steady_clock::now() + limits::worker_start_timeout);

  /// Returns when the worker's program runs. E0614 if it could not be executed (with the path and the system's reason),
  /// is not running at `deadline`, or the host stops; the listener is not told about such a worker, and none is left.
  [[nodiscard]] expected<worker_id> start(spawn_request request, std::shared_ptr<process_listener> listener,
                                          time_point deadline = std::chrono::steady_clock::now() +
                                                                limits::worker_start_timeout);

  /// True if the worker has got the signal, false if it has ended. Never hits another process.
  bool kill(worker_id worker, int signal);

  /// Nothing once it has ended.
  [[nodiscard]] std::optional<pid_t> pid_of(worker_id worker) const;

  /// Nothing can be started any more. SIGTERM to all workers, SIGKILL to those that live after `grace` or
  /// worker_reap_time before `deadline`. True if all were reaped and their listeners told by `deadline`. May be
  /// repeated. After false the workers are killed and the system has not ended them yet; the destructor waits on.
  bool stop(time_point deadline, std::chrono::milliseconds grace = limits::worker_stop_grace);

  /// Workers whose on_exit() has not been called yet.
  [[nodiscard]] std::size_t running() const;

 private:
  /// One start under way. Guarded by the mutex: the result, and whether it is abandoned.
  struct pending_start {
    spawn_request request;
    std::shared_ptr<process_listener> listener;
    time_point deadline;
    start_result told;
    std::optional<expected<worker_id>> result;
    bool abandoned = false;
  };

  explicit process_host(unique_fd bell) : bell_(std::move(bell)) {}

  std::shared_ptr<pending_start> enqueue(pending_start made);
  void ring();
  bool await_none_running(time_point deadline);

  void run() noexcept;
  void loop();
  bool obey();
  void advance_starts();
  [[nodiscard]] std::shared_ptr<pending_start> first_start();
  [[nodiscard]] std::optional<error> objection_to(const pending_start& pending);
  [[nodiscard]] std::optional<expected<spawned_process>> advance(const pending_start& pending);
  void finish_start(pending_start& pending, expected<spawned_process> spawned);
  void signal_all(int signal);
  void wait_for_events();
  [[nodiscard]] int poll_timeout() const;
  void look_at_children();
  void give_up_children();

  unique_fd bell_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<pending_start>> starts_;
  struct living {
    int pidfd = -1;
    pid_t pid = 0;
  };
  /// Descriptors of children_, for kill(): an entry goes before its descriptor does.
  std::map<worker_id, living> alive_;
  bool stopping_ = false;
  bool terminate_ = false;
  std::optional<time_point> kill_at_;
  std::optional<time_point> end_by_;

  // Members of the host's thread.
  std::uint64_t last_id_ = 0;
  /// The first of starts_, once it has begun. The others wait for it.
  std::unique_ptr<starting_process> starting_;
  std::vector<std::unique_ptr<child_process>> children_;
  std::vector<pollfd> polled_;
  bool killed_ = false;
  std::thread thread_;
};

}  // namespace troupe
