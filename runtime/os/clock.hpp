#pragma once

#include <chrono>
#include <functional>

namespace troupe {

/// A clock that tests can replace: time since a fixed moment, never going back. Any thread.
using clock_function = std::function<std::chrono::nanoseconds()>;

/// std::chrono::steady_clock, which all processes of a host share; on a thread with a virtual_clock, its time.
[[nodiscard]] std::chrono::nanoseconds steady_now();

/// Time that its owner moves: as long as it lives steady_now() is `now` on the thread that made it, and on no other.
/// For simulation. One at a time on a thread, where it also ends: not checked.
struct virtual_clock {
  explicit virtual_clock(std::chrono::nanoseconds start) noexcept;
  virtual_clock(const virtual_clock&) = delete;
  virtual_clock& operator=(const virtual_clock&) = delete;
  ~virtual_clock();

  std::chrono::nanoseconds now;
};

}  // namespace troupe
