#pragma once

#include <iostream>

#include <troupe/troupe.hpp>

/// Runs a topology and prints the result as `troupe eval` does; the status is the program's.
inline int run_and_show(const troupe::topology& what, const troupe::run_options& options = {}) {
  const auto result = troupe::run(what, options);
  if (!result) {
    std::cerr << to_string(result.error()) << '\n';
    return static_cast<int>(troupe::status_of(result.error().code));
  }
  std::cout << troupe::result_table(*result, 100);
  return 0;
}
