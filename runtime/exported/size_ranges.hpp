#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/graph/operator_graph.hpp"
#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The sizes that a program was exported for ("range_constraints" of the file).
class size_ranges {
 public:
  static expected<size_ranges> read(const json_part& program);

  /// One range per dimension of a tensor. Sizes that are computed from others, such as 2 * s0, may be any.
  [[nodiscard]] expected<std::vector<size_range>> of_tensor(const json_part& meta) const;

 private:
  /// By the names of symbols: "s77".
  std::map<std::string, size_range> ranges_;
};

}  // namespace troupe
