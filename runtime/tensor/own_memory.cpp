#include "runtime/tensor/own_memory.hpp"

#include <cstdint>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/CPUAllocator.h>

#include "messages/limits.hpp"
#include "runtime/tensor/tensor_description.hpp"

namespace troupe {

namespace {

bool is_aligned(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % limits::payload_alignment == 0;
}

}  // namespace

bool is_only_owner(const at::Tensor& handle) {
  if (handle.use_count() != 1 || !handle.has_storage() || handle.storage().use_count() != 1) return false;
  return !handle.device().is_cpu() || handle.storage().allocator() == c10::GetCPUAllocator();
}

at::Tensor taken(const at::Tensor& given, bool is_constant) {
  if (given.layout() != at::kStrided || !given.device().is_cpu() || !given.has_storage()) return given;
  if ((is_constant || is_only_owner(given)) && is_aligned(given)) return given;
  const at::NoGradGuard guard;
  if (given.is_quantized()) return given.clone();
  return at::empty_strided(given.sizes(), strides_of(given), given.options()).copy_(given);
}

}  // namespace troupe
