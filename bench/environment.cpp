#include "environment.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include <ATen/Version.h>
#include <caf/config.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/version.h>

#include <troupe/runtime/engine/engine_thread.hpp>

namespace troupe::bench {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

}  // namespace

nlohmann::ordered_json environment_json() {
#if defined(__clang__)
  const std::string compiler = "clang++ " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return {{"libtorch", TORCH_VERSION},
          {"cpu_capability", at::get_cpu_capability()},
          {"caf", fmt::format("{}.{}.{}", CAF_MAJOR_VERSION, CAF_MINOR_VERSION, CAF_PATCH_VERSION)},
          {"compiler", compiler},
          {"processor", processor()},
          {"cores", usable_cores()}};
}

double load_average() {
  std::array<double, 1> load{};
  return getloadavg(load.data(), 1) == 1 ? load[0] : 0;
}

}  // namespace troupe::bench
