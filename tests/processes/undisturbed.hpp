#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"

namespace troupe::testing {

/// What `troupe eval` gives for these arguments in one process, where nothing happens to it.
struct undisturbed {
  std::vector<std::uint64_t> metrics;
  std::uint64_t micro_batches = 0;
  std::uintmax_t journal_bytes = 0;

  /// Each command line is run once per test program.
  static const undisturbed& of(const std::vector<std::string>& arguments);

  /// The same metrics to the last bit, and nothing lost on the way.
  void expect_same(const program_outcome& outcome) const;
};

}  // namespace troupe::testing
