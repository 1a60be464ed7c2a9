#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph_case.hpp"

namespace troupe::testing {

/// What each sink (in the order of the graph's nodes) must have folded of a call, worked out sample by sample from the
/// sink backwards: no engines, no parts, no order of execution.
std::vector<std::uint64_t> expected_digests(const graph_case& given, call_number call);

/// Whether a forward of the call fails for good: of those that are told to, one that has a sample to compute. Of a
/// resumed call, `must`: one that every sink still waits for; `may`: one that is computed for any of them, and the call
/// may be complete without it.
struct failing {
  bool must = false;
  bool may = false;
};
failing failing_of(const graph_case& given, call_number call);

}  // namespace troupe::testing
