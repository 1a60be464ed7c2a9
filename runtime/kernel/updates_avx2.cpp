#include "runtime/kernel/update_code.hpp"

namespace troupe {
namespace {

struct avx2_width {};

}  // namespace

constinit const update_kernels<float> avx2_updates = update_loops<avx2_width>::all<float>();
constinit const update_kernels<double> avx2_double_updates = update_loops<avx2_width>::all<double>();

}  // namespace troupe
