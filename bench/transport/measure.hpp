#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dialogue.hpp"
#include "lane_end.hpp"

namespace troupe::bench {

/// The driver's end of a lane, and who serves the other one. Null: there is none, the lane ends where it begins.
struct lane {
  std::string name;
  std::unique_ptr<lane_end> end;
  dialogue* peer = nullptr;
};

/// Of one message alone, from the begin of send() until its receiver has touched it.
struct hop_times {
  double p50_us = 0;
  double p99_us = 0;
};

/// One message in flight, there and back, `turns` times, after some untimed ones: half of each turn.
[[nodiscard]] hop_times measure_hops(const lane& on, std::size_t bytes, std::uint64_t turns);

/// Messages one way as fast as credits or the socket's buffer allow, on a lane that is empty and warm at the start:
/// GB/s (1e9 bytes), from the first send() until the receiver has touched the last one.
[[nodiscard]] double measure_stream(const lane& on, std::size_t bytes, std::uint64_t count);

}  // namespace troupe::bench
