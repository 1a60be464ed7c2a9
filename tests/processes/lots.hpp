// Lots that are known to fall: a test of p=0.1 on few messages would else inject nothing.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/fault/fault_draw.hpp"

namespace troupe::testing {

/// ",p=0.1,seed=N": N is the first number from `first` on with which one of six messages is hit. A stage that is not
/// the last one has eight control messages in a short run.
inline std::string tenth_that_hits(std::uint64_t first) {
  const auto hits = [](std::uint64_t seed) {
    for (std::uint64_t message = 1; message <= 6; ++message) {
      if (draw_for(seed, message).share() < 0.1) return true;
    }
    return false;
  };
  while (!hits(first)) ++first;
  return ",p=0.1,seed=" + std::to_string(first);
}

}  // namespace troupe::testing
