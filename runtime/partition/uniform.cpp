#include <algorithm>

#include "messages/check.hpp"
#include "runtime/partition/weights.hpp"

namespace troupe {

part_boundaries partition_uniform(std::size_t items, std::size_t parts) {
  TROUPE_CHECK(parts >= 1, "items are dealt out to at least one part");
  const std::size_t each = items / parts;
  const std::size_t larger_parts = items % parts;
  part_boundaries result{0};
  for (std::size_t part = 0; part < parts; ++part) {
    result.push_back(result.back() + each + (part < larger_parts ? 1 : 0));
  }
  return result;
}

}  // namespace troupe
