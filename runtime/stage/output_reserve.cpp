#include "runtime/stage/output_reserve.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include "messages/limits.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

constexpr auto aggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

/// Tensors that have an allocation each.
std::int64_t large_bytes(std::span<const activation> outputs) {
  std::size_t sum = 0;
  for (const activation& output : outputs) {
    if (output.tensors == nullptr) continue;
    for (const at::Tensor& each : as_tensors(output.tensors).tensors()) {
      if (!each.device().is_cpu() && each.nbytes() >= c10::CachingAllocator::kMinLargeAlloc) sum += each.nbytes();
    }
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace

output_reserve::output_reserve(c10::Device device)
    : device_(device), cache_(dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()))) {
  // LibTorch makes its cache with the first tensor of the device: before that nothing is taken.
  if (cache_ == nullptr || !cache_->initialized()) return;
  cache_->resetPeakStats(device_.index());
  before_ = cache_->getDeviceStats(device_.index()).allocated_bytes[aggregate].current;
}

// What other stages of the process take meanwhile is counted, too: the room is larger then.
std::int64_t output_reserve::bytes_of_forward() const {
  return cache_->getDeviceStats(device_.index()).allocated_bytes[aggregate].peak - before_;
}

void output_reserve::reserve(std::span<const activation> outputs) const {
  const std::int64_t large = large_bytes(outputs);
  if (cache_ == nullptr || large == 0) return;
  const std::int64_t needed = bytes_of_forward() + limits::ipc_reserved_outputs * large;
  cache_->emptyCache();
  try {
    static_cast<void>(at::empty({needed + needed / 4}, at::TensorOptions(at::kByte).device(device_)));
  } catch (const c10::OutOfMemoryError&) {
    // Outputs are copied to the slots of the edge then.
  }
}

}  // namespace troupe
