#pragma once

#include <algorithm>
#include <chrono>
#include <memory>

#include "actors/caf.hpp"
#include "actors/link/link_sockets.hpp"
#include "actors/link/link_watch.hpp"
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

/// What an actor system of a run with worker processes is made of: one worker thread of policy `sharing`, CAF's network
/// without any port, wire_message, and the sockets of its links. It must outlive the system, which has to be made of
/// this very object.
///
/// The system's destructor waits for all its actors: tell them to exit before. Peers that are alive, dead or frozen do
/// not delay it: its links are cut when all actors have ended, and what a peer has not read by then is gone.
class link_config : public caf::actor_system_config {
 public:
  explicit link_config(liveness times = {});

  [[nodiscard]] const liveness& times() const noexcept { return times_; }
  [[nodiscard]] link_sockets& sockets() const noexcept { return *sockets_; }

  /// Ends links whose other end is silent; started before the system, or with it.
  [[nodiscard]] link_watch& watch() const noexcept { return *watch_; }

  /// Of a system made of a link_config; anything else stops the process.
  [[nodiscard]] static const link_config& of(const caf::actor_system& system);

 private:
  liveness times_;
  std::unique_ptr<link_sockets> sockets_ = std::make_unique<link_sockets>();
  std::unique_ptr<link_watch> watch_ = std::make_unique<link_watch>(times_.timeout, times_.heartbeat());
};

}  // namespace troupe
