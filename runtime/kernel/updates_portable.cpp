#include "runtime/kernel/update_code.hpp"

namespace troupe {
namespace {

struct portable_width {};

}  // namespace

constinit const update_kernels<float> portable_updates = update_loops<portable_width>::all<float>();
constinit const update_kernels<double> portable_double_updates = update_loops<portable_width>::all<double>();

}  // namespace troupe
