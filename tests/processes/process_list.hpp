#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace troupe::testing {

/// Direct children, those that are about to be executed included. None of a process that has ended.
std::vector<pid_t> children_of(pid_t parent);

/// Everything alive whose environment has this entry, "NAME=value".
std::vector<pid_t> processes_with(const std::string& entry);

/// As in /proc/PID/stat: 'R', 'S', 'T' for stopped, 'Z' for dead and not reaped; nothing once it is reaped.
std::optional<char> state_of(pid_t process);

/// What a worker was told in TROUPE_WORKER: where its driver listens. Nothing before its program runs.
std::optional<std::uint16_t> driver_port_of(pid_t worker);

/// Somebody listens at this port of the loopback interface.
bool is_listened_at(std::uint16_t port);

/// Connections that this port of the loopback interface has: one of each worker that has begun to greet its driver.
std::size_t connections_at(std::uint16_t port);

/// Asks every few milliseconds until it is true, or the time is over.
bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds within);

}  // namespace troupe::testing
