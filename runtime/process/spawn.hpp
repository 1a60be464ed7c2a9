#pragma once

#include <chrono>

#include <sys/types.h>

#include "runtime/os/unique_fd.hpp"
#include "runtime/process/spawn_request.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A child whose program was started and may have ended since. The owner of this object reaps it.
struct spawned_process {
  pid_t pid = -1;
  unique_fd pidfd;
  unique_fd standard_output;  ///< read ends, non-blocking
  unique_fd standard_error;
};

/// Forks and executes; waits until the program runs. The child dies with the calling *thread*. E0614 with the path and
/// the reason if that failed or took until `deadline`: then there is no child. The request's descriptors are not
/// closed.
[[nodiscard]] expected<spawned_process> spawn(const spawn_request& request,
                                              std::chrono::steady_clock::time_point deadline);

/// A signal to exactly this process; false if it has ended and was reaped.
bool send_signal(int pidfd, int number);

}  // namespace troupe
