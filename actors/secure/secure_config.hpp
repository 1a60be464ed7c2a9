#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include <troupe/actors/caf.hpp>
#include <troupe/messages/limits.hpp>

namespace troupe {

/// PEM files, for example memory_file::path_of(): the authority of the run, and what this process shows. They are read
/// by each publish_on_loopback() and connect_on_loopback(), and may be closed after that.
struct secure_identity {
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
};

/// An end that has nothing to say says so every heartbeat(); an end that says nothing for `timeout` is lost. Both ends
/// of a link must have the same: one with rarer heartbeats would be lost to the other.
struct liveness {
  std::chrono::milliseconds timeout = limits::worker_silence_timeout;

  [[nodiscard]] constexpr std::chrono::milliseconds heartbeat() const noexcept {
    return std::clamp(timeout / limits::heartbeats_per_timeout, limits::heartbeat_min, limits::heartbeat_max);
  }
};

/// What an actor system of a run with worker processes is made of: one worker thread of policy `sharing`, CAF's network
/// without any port of its own, the module that owns what publish_on_loopback() opens, and wire_message. It must
/// outlive the system, which has to be made of this very object. caf::openssl is not loaded (docs/control_plane.md).
///
/// The system's destructor waits for all its actors: tell them to exit before. Connections to peers that are alive,
/// dead or frozen delay it by at most `timeout`, which a frozen peer takes that has not read what was sent to it.
class secure_config : public caf::actor_system_config {
 public:
  explicit secure_config(secure_identity identity, liveness times = {});

  [[nodiscard]] const secure_identity& identity() const noexcept { return identity_; }
  [[nodiscard]] const liveness& times() const noexcept { return times_; }

  /// Of a system made of a secure_config; anything else stops the process.
  [[nodiscard]] static const secure_config& of(const caf::actor_system& system);

 private:
  secure_identity identity_;
  liveness times_;
};

}  // namespace troupe
