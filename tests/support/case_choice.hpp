#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <random>
#include <vector>

namespace troupe::testing {

/// For lists of like cases that take minutes: `count` of `all`, drawn afresh in each run and in the order of `all`.
/// Where the environment has TROUPE_ALL_CASES, as `make check` sets it, all of them: so a case that failed is repeated
/// by name.
template <typename Case>
std::vector<Case> some_of(const std::vector<Case>& all, std::size_t count) {
  if (std::getenv("TROUPE_ALL_CASES") != nullptr) return all;
  std::vector<Case> some;
  std::sample(all.begin(), all.end(), std::back_inserter(some), count, std::mt19937_64{std::random_device{}()});
  return some;
}

}  // namespace troupe::testing
