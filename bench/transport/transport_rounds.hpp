#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "measure.hpp"

namespace troupe::bench {

struct transport_options {
  std::uint32_t rounds = 5;
  /// Of each measurement, about.
  double seconds = 0.1;
  std::vector<std::size_t> sizes;
  /// Called before each round, the additional one being 0. May be empty.
  std::function<void(std::uint32_t round)> on_round;
};

/// Of one lane and message size, by round.
struct transport_times {
  std::vector<double> p50_us;
  std::vector<double> p99_us;
  std::vector<double> gb_per_s;
  /// Messages of a measurement.
  std::uint64_t turns = 0;
  std::uint64_t streamed = 0;
};

using times_by_size = std::map<std::size_t, transport_times>;
/// By lane.
using transport_results = std::map<std::string, times_by_size>;

/// Measures all lanes in turn, size by size and round by round, beginning with another lane each time. One lane is used
/// at a time. An additional round comes first, which decides how many messages make up a measurement.
[[nodiscard]] transport_results measure_transports(const std::vector<lane>& lanes, const transport_options& options);

}  // namespace troupe::bench
