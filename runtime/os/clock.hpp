#pragma once

#include <chrono>
#include <functional>

namespace troupe {

/// A clock that tests can replace: time since a fixed moment, never going back. Any thread.
using clock_function = std::function<std::chrono::nanoseconds()>;

/// std::chrono::steady_clock, which all processes of a host share.
[[nodiscard]] std::chrono::nanoseconds steady_now();

}  // namespace troupe
