#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/error.hpp>

namespace troupe::bench {

struct formation_failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
[[nodiscard]] T must(expected<T> value) {
  if (!value) throw formation_failure(to_string(value.error()));
  return std::move(*value);
}

/// One driver and its agents, as many as `nodes`.
struct formation {
  std::size_t nodes = 0;
  std::chrono::milliseconds idle_time{};
};

/// At the driver. Times of processors are those of its I/O thread, which serves all links.
struct formation_figures {
  /// From the first ticket until all agents are ready.
  double seconds_to_form = 0;
  double join_cpu_us_per_node = 0;
  /// An idle link: one ping out and one in each liveness::heartbeat().
  double heartbeat_cpu_us = 0;
  /// Resident, and as its allocator counts them. Memory of the kernel for sockets is in neither.
  double resident_kib_per_node = 0;
  double allocated_kib_per_node = 0;
  /// Connections that the driver has closed on agents: more came at a time than may be in their handshake.
  std::size_t refused = 0;
};

}  // namespace troupe::bench
