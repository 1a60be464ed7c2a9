#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
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

/// Its program runs, and was started as a worker.
bool is_worker(pid_t process);

/// It waits to become workers by copies of itself.
bool is_fork_server(pid_t process);

/// It tries a model out, before the run.
bool is_try_out(pid_t process);

/// It has greeted its driver, and speaks over its link.
bool has_joined(pid_t worker);

/// What its descriptors are: "pipe:[42]", "/dev/null", "socket:[43]"...
std::vector<std::string> descriptors_of(pid_t process);

/// TCP, of any of these.
std::set<std::uint16_t> ports_listened_at_by(const std::vector<pid_t>& processes);

/// A process listens at this port of the loopback interface.
bool is_listened_at(std::uint16_t port);

/// Asks every few milliseconds until it is true, or the time is over.
bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds within);

}  // namespace troupe::testing
