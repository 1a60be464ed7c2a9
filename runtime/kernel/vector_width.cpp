#include "runtime/kernel/vector_width.hpp"

#include <vector>

namespace troupe {
namespace {

std::vector<vector_width> find_vector_widths() {
  std::vector<vector_width> found{vector_width::portable};
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) found.push_back(vector_width::avx2);
  if (__builtin_cpu_supports("avx512f") != 0) found.push_back(vector_width::avx512);
#endif
  return found;
}

}  // namespace

std::span<const vector_width> usable_vector_widths() {
  static const std::vector<vector_width> found = find_vector_widths();
  return found;
}

vector_width widest_vector_width() {
  return usable_vector_widths().back();
}

}  // namespace troupe
