#pragma once

#include <chrono>
#include <cstdint>

#include <troupe/actors/secure/wire_message.hpp>
#include <troupe/messages/error.hpp>
#include <troupe/messages/limits.hpp>

/// The two ends of the control plane (docs/control_plane.md). Both functions want a system made of a secure_config, may
/// be called from any thread except from its actors, and read the files of its identity.
///
/// Between two actors messages arrive whole, in order, each at most once; what was sent shortly before a loss may be
/// lost. Whoever monitors an actor of another process gets a down_msg with remote_link_unreachable when that process is
/// dead (at once) or silent (after liveness::timeout), and with the actor's own reason when only the actor has ended.
namespace troupe {

/// Lets processes with a certificate of this run talk to `actor`, over 127.0.0.1 and a port that the system chooses and
/// that is returned. It stays open until the actor system ends. E0614 if the system refuses, E0707 for bad files.
[[nodiscard]] expected<std::uint16_t> publish_on_loopback(caf::actor_system& system, const wire_actor& actor);

/// The actor that a process of this run has published at 127.0.0.1:port. Returns until `deadline`, whatever the other
/// end does. A connection that is lost on its way is tried again.
/// E0708: nobody listens there, or the peer went away. E0707: one refused the other's certificate, or the peer did not
/// answer in time. E0703: another version.
[[nodiscard]] expected<wire_actor> connect_on_loopback(
    caf::actor_system& system, std::uint16_t port,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::now() + limits::worker_connect_timeout);

}  // namespace troupe
