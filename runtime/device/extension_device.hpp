#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/cuda/nccl_functions.hpp"
#include "runtime/device/device_context.hpp"
#include "runtime/device/kernel_recorder.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What edges and graphs need of an accelerator that the program makes known to LibTorch (privateuseone). Without it
/// tensors go through the host from process to process.
struct extension_device {
  /// The context of the device with this number.
  std::function<expected<std::shared_ptr<device_context>>(int ordinal)> context = nullptr;
  /// A library of NCCL's shape for it; nothing: `--transport nccl` connects no such devices.
  std::optional<nccl::functions> collectives = std::nullopt;
  /// For stages with `cuda_graphs`; empty: they are refused.
  std::function<expected<std::shared_ptr<kernel_recorder>>(int ordinal)> graphs = nullptr;
};

/// Before the start, in each process of the program alike; once. Threads: any, as the next.
void set_extension_device(extension_device made);
/// With an empty `context` where the program has set none.
[[nodiscard]] extension_device get_extension_device();

}  // namespace troupe
