// Goal: how much memory the code under test asks for. Counts in the global operator new of the test program.
#pragma once

#include <cstddef>

namespace troupe::testing {

struct allocation_counts {
  std::size_t largest_bytes = 0;
  std::size_t total_bytes = 0;
};

/// Since the last call, in this program.
allocation_counts take_allocation_counts() noexcept;

}  // namespace troupe::testing
