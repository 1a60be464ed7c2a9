#include "runtime/tensor/torch_device.hpp"

#include <cstddef>

#include <ATen/Context.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "messages/try.hpp"
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/tensor/torch_cuda.hpp"

namespace troupe {
namespace {

expected<std::size_t> count_cuda() {
  const auto driver = cuda_driver::load();
  if (driver) return driver->devices().size();
  return fail(driver.error().code, driver.error().where, "no CUDA driver: " + driver.error().cause);
}

expected<std::size_t> count_extension() {
  if (c10::impl::hasDeviceGuardImpl(c10::DeviceType::PrivateUse1)) {
    return static_cast<std::size_t>(c10::impl::getDeviceGuardImpl(c10::DeviceType::PrivateUse1)->deviceCount());
  }
  return fail(error_code::library_unusable, "LibTorch", "the program makes no such device known to LibTorch");
}

/// Loaded, and found by LibTorch.
expected<void> have_cuda() {
  TROUPE_TRY(load_torch_cuda());
  if (at::globalContext().hasCUDA()) return {};
  return fail(error_code::library_unusable, "libtorch_cuda.so",
              "LibTorch was asked for CUDA before this library was loaded, and remembers that it has none",
              "start the run before the program computes anything with LibTorch, or link it with libtorch_cuda.so");
}

c10::Device numbered(c10::DeviceType type, const device_name& placed) {
  return {type, static_cast<c10::DeviceIndex>(placed.ordinal.value_or(0))};
}

}  // namespace

expected<c10::Device> torch_device(const device_name& asked, const std::string& stage, std::uint32_t index) {
  switch (asked.kind) {
    case device_kind::cuda:
      return place_stage(asked, stage, index, count_cuda()).and_then([](const device_name& placed) {
        return have_cuda().map([&] { return numbered(c10::DeviceType::CUDA, placed); });
      });
    case device_kind::extension:
      return place_stage(asked, stage, index, count_extension()).map([](const device_name& placed) {
        return numbered(c10::DeviceType::PrivateUse1, placed);
      });
    case device_kind::cpu:
      break;
  }
  return c10::Device(c10::DeviceType::CPU);
}

}  // namespace troupe
