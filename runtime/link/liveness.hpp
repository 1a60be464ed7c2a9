#pragma once

#include <algorithm>
#include <chrono>

#include "messages/limits.hpp"

namespace troupe {

/// An end that has nothing to say says so every heartbeat(); an end that says nothing for `timeout` is lost. Both ends
/// of a link must have the same: one with rarer heartbeats would be lost to the other.
struct liveness {
  std::chrono::milliseconds timeout = limits::worker_silence_timeout;

  [[nodiscard]] constexpr std::chrono::milliseconds heartbeat() const noexcept {
    return std::clamp(timeout / limits::heartbeats_per_timeout, limits::heartbeat_min, limits::heartbeat_max);
  }
};

}  // namespace troupe
