#pragma once

#include <cstdint>

#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// Whether a run can be what is asked for, at every door: check() of the topology; E0103 names the option that is out
/// of range, E0104 the two that contradict, or that a troupe::program is missing.
[[nodiscard]] expected<void> check_run(const topology& what, const run_options& options);

/// Whether the system gives what such a run holds at the same time (room_of.hpp); before any part is made. E0614.
/// A graph that cannot be expanded passes: what expands it for the run says why not.
[[nodiscard]] expected<void> check_room(const topology& what, const run_options& options, std::uint32_t threads);

}  // namespace troupe
