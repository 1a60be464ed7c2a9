#include <cmath>
#include <sstream>

#include <ATen/Config.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "actors/workers/resource_needs.hpp"
#include "machine_checks.hpp"

namespace troupe::cli {
namespace {

/// One library's line of at::show_config(), "Intel(R) oneAPI Math Kernel Library Version 2024.2 ...".
std::string config_line(const std::string& key) {
  std::istringstream lines(at::show_config());
  for (std::string line; std::getline(lines, line);) {
    if (line.find(key) == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" -");
    return begin == std::string::npos ? line : line.substr(begin);
  }
  return {};
}

/// Small whole numbers: every product and sum is exact in float, so any correct kernel gives these very bits.
bool multiplies_exactly() {
  constexpr std::int64_t n = 33;
  const at::Tensor a = at::empty({n, n}, at::kFloat);
  const at::Tensor b = at::empty({n, n}, at::kFloat);
  const auto entry = [](std::int64_t i, std::int64_t seed) { return static_cast<float>((i * seed) % 7 - 3); };
  for (std::int64_t i = 0; i < n * n; ++i) {
    a.data_ptr<float>()[i] = entry(i, 3);
    b.data_ptr<float>()[i] = entry(i, 5);
  }
  const at::Tensor c = at::mm(a, b);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (std::int64_t k = 0; k < n; ++k) sum += entry(row * n + k, 3) * entry(k * n + column, 5);
      if (c.data_ptr<float>()[row * n + column] != sum) return false;
    }
  }
  return true;
}

void check_library(std::vector<machine_check>& into, const std::string& subject, const std::string& key) {
  const std::string line = config_line(key);
  into.push_back({line.empty() ? check_level::warning : check_level::ok, subject,
                  line.empty() ? "not in this LibTorch: kernels will be slower" : line});
}

}  // namespace

void check_libtorch(std::vector<machine_check>& into) {
  into.push_back({check_level::ok, "libtorch", TORCH_VERSION});
  check_library(into, "mkl", "Math Kernel Library Version");
  check_library(into, "openmp", "OpenMP");
  into.push_back({check_level::ok, "kernels",
                  fmt::format("CPU capability {}, {} intra-op threads by default", at::get_cpu_capability(),
                              at::get_num_threads())});
  if (const auto room = ensure_resources(needs_of_command("kernels")); !room) {
    into.push_back({check_level::failed, "self-test", room.error().cause});
    return;
  }
  const bool right = multiplies_exactly();
  into.push_back(
      {right ? check_level::ok : check_level::failed, "self-test",
       right ? "a matrix product is exact" : "a matrix product of whole numbers is wrong: do not trust results"});
}

}  // namespace troupe::cli
