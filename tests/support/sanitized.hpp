#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace troupe::testing {

/// Sanitizers make everything several times slower.
constexpr bool sanitized =
#ifdef __SANITIZE_ADDRESS__
    true;
#else
    false;
#endif

/// AddressSanitizer or ThreadSanitizer: they map terabytes for themselves and keep freed memory, so that neither
/// limits nor measures of memory hold, and a text of a mebibyte takes half a minute.
constexpr bool instrumented =
#ifdef __SANITIZE_THREAD__
    true;
#else
    sanitized;
#endif

/// Said with GTEST_SKIP.
inline constexpr const char* same_code = "without a sanitizer only: another test of this file runs the same code";

/// All cases of a table, under a sanitizer those at `kept` alone.
template <typename Case>
std::vector<Case> fewer_if_sanitized(const std::vector<Case>& all, std::initializer_list<std::size_t> kept) {
  if (!sanitized) return all;
  std::vector<Case> some;
  for (const std::size_t index : kept) some.push_back(all.at(index));
  return some;
}

}  // namespace troupe::testing
