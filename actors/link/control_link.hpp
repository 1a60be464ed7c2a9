#pragma once

#include <chrono>
#include <utility>

#include "actors/link/wire_message.hpp"
#include "messages/limits.hpp"
#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

/// The two ends of the control plane (docs/control_plane.md). Systems are made of a link_config; functions that take
/// one may be called from any thread except from its actors.
///
/// Between two actors messages arrive whole, in order, each at most once; what was sent shortly before a loss may be
/// lost. Monitors of an actor of another process get a down_msg with remote_link_unreachable when that process is
/// dead (at once) or silent (after liveness::timeout), and with the actor's own reason when only the actor has ended.
namespace troupe {

/// A connected pair of unix stream sockets, non-blocking and close-on-exec: the driver's end, and the one that a worker
/// inherits. The pair is the worker's identity: no other process can have an end. E0614 if the system has none left.
[[nodiscard]] expected<std::pair<unique_fd, unique_fd>> make_link();

/// Driver: lets the process at the other end talk to `actor`, from its greeting on, however long it takes to start. An
/// `actor` for each link tells who is there. Returns at once.
void offer_link(caf::actor_system& system, unique_fd end, const wire_actor& actor);

/// Worker, before it makes its system: says the greeting, and waits until the driver has answered, at most until
/// `deadline`. E0708: the driver is gone, or did not answer in time.
[[nodiscard]] expected<void> greet_driver(
    const unique_fd& end,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::now() + limits::worker_connect_timeout);

/// Worker, after greet_driver(): the actor that the driver offers over this link. Returns until `deadline`, whatever
/// the other end does. Soon after the system was made: CAF gives up a link that it has not read from by its next
/// heartbeat. E0708: the driver is gone or does not answer. E0707: it offers another kind of actor.
[[nodiscard]] expected<wire_actor> join_driver(
    caf::actor_system& system, unique_fd end,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::now() + limits::worker_connect_timeout);

}  // namespace troupe
