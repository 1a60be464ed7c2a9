#pragma once

#include <chrono>

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

/// Starts a program and returns as soon as exec has succeeded. The kernel kills the child when the calling *thread*
/// ends, so this thread must outlive the child. The child has the request's descriptors and no others. It leads a
/// process group of its own; every signal has its default action and none is blocked. The request keeps its own
/// descriptors open: the caller destroys it after the call. Any number of threads may call it. Errors: E0614 with the
/// path and the reason: the start failed, or `deadline` passed. The child is killed and reaped then; one that SIGKILL
/// does not end within limits::worker_reap_time stays a zombie.
[[nodiscard]] expected<spawned_process> spawn(const spawn_request& request,
                                              std::chrono::steady_clock::time_point deadline);

/// Sends a signal to this process and to no later one of its number. False if it was reaped already, or for any other
/// error of the system; a child that has ended and was not reaped takes the signal without effect.
bool send_signal(int pidfd, int number);

}  // namespace troupe
