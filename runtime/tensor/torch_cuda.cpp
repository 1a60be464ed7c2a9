#include "runtime/tensor/torch_cuda.hpp"

#include <filesystem>
#include <string>

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <torch/csrc/jit/codegen/fuser/interface.h>

#include "runtime/cuda/shared_library.hpp"

namespace troupe {
namespace {

/// The folder of the LibTorch that this process has: kernels of another one would not fit.
std::filesystem::path folder_of_torch() {
  Dl_info found{};
  const auto* inside = reinterpret_cast<const void*>(&at::show_config);
  if (::dladdr(inside, &found) == 0 || found.dli_fname == nullptr) return {};
  return std::filesystem::path(found.dli_fname).parent_path();
}

// TorchScript's fuser makes kernels for the shapes that a process has seen, after its first forwards: a spare would
// compute the micro-batches of a dead worker with other kernels than that one, and with other bits.
void compute_the_same_in_every_process() {
  torch::jit::overrideCanFuseOnGPU(false);
  at::globalContext().setDeterministicCuDNN(true);
}

expected<void> load_once() {
  const std::string path = torch_cuda_path();
  if (const auto library = shared_library::open(path); !library) {
    return fail(error_code::library_unusable, path, library.error().cause,
                "Run scripts/setup.sh --cuda, or leave the device out");
  }
  if (c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) {
    compute_the_same_in_every_process();
    return {};
  }
  return fail(error_code::library_unusable, path, "it is loaded, but LibTorch knows no CUDA after it",
              "Install the CUDA part of the same LibTorch");
}

}  // namespace

std::string torch_cuda_path() {
  return (folder_of_torch() / "libtorch_cuda.so").string();
}

expected<void> load_torch_cuda() {
  static const expected<void> loaded = load_once();
  return loaded;
}

}  // namespace troupe
