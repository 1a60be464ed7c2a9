#include "environment.hpp"

#include <ATen/Version.h>
#include <caf/config.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/version.h>

#include "machine.hpp"
#include "runtime/os/cores.hpp"

namespace troupe::bench {

nlohmann::ordered_json environment_json() {
  return {{"libtorch", TORCH_VERSION},
          {"cpu_capability", at::get_cpu_capability()},
          {"caf", fmt::format("{}.{}.{}", CAF_MAJOR_VERSION, CAF_MINOR_VERSION, CAF_PATCH_VERSION)},
          {"compiler", compiler()},
          {"processor", processor()},
          {"cores", usable_cores()}};
}

}  // namespace troupe::bench
