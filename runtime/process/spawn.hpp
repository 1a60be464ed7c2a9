#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <poll.h>
#include <sys/types.h>

#include "runtime/os/unique_fd.hpp"
#include "runtime/process/spawn_request.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A child process. It may have ended since. The destructor closes the descriptors and nothing else: the owner reaps
/// the child (waitid with P_PIDFD and __WALL).
struct spawned_process {
  pid_t pid = -1;
  unique_fd pidfd;            ///< readable when the child has ended
  unique_fd standard_output;  ///< read end of the pipe, non-blocking; empty where the request has its own
  unique_fd standard_error;   ///< the same
};

/// A program that is being started, by a copy of the request's fork server or by exec. Nothing waits: look() goes on
/// when polled() is ready. The kernel kills the child when the *thread* that has called begin() ends, so this thread
/// must outlive the child, and is the one that uses this object. The child has the request's descriptors and no others.
/// It leads a process group of its own; every signal has its default action and none is blocked.
class starting_process {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// The request outlives the object, and keeps its own descriptors open. E0614 with the reason.
  [[nodiscard]] static expected<std::unique_ptr<starting_process>> begin(const spawn_request& request,
                                                                         time_point deadline);
  starting_process(const starting_process&) = delete;
  starting_process& operator=(const starting_process&) = delete;
  /// A child that was not handed out is killed and reaped; one that SIGKILL does not end within
  /// limits::worker_reap_time stays a zombie.
  ~starting_process();

  [[nodiscard]] pollfd polled() const;
  /// When look() has to be called even if nothing is to be polled.
  [[nodiscard]] time_point wakes_at() const;
  /// The child, as soon as its program runs; nothing as long as it does not; once. E0614 with the path and the reason:
  /// the start failed, or the deadline passed. No child is left then, unless as above.
  [[nodiscard]] std::optional<expected<spawned_process>> look(time_point now);

 private:
  enum class phase : std::uint8_t;
  struct state;
  explicit starting_process(std::unique_ptr<state> made);
  [[nodiscard]] expected<void> execute();
  [[nodiscard]] expected<void> adopt(pid_t pid);
  [[nodiscard]] bool has_executed(time_point now);
  [[nodiscard]] std::optional<expected<spawned_process>> end(time_point now);

  const std::unique_ptr<state> state_;
};

/// Sends a signal to this process and to no later one of its number. False if it was reaped already, or for any other
/// error of the system; a child that has ended and was not reaped takes the signal without effect.
bool send_signal(int pidfd, int number);

}  // namespace troupe
