#include "runtime/tensor/faithful_copy.hpp"

#include <cstdint>

#include <ATen/ops/empty.h>

#include "messages/limits.hpp"
#include "runtime/tensor/quantized_tensor.hpp"

namespace troupe {

at::Tensor faithful_copy(const at::Tensor& tensor) {
  if (tensor.is_quantized() && tensor.device().is_cpu())
    return with_quantizer_of(tensor, faithful_copy(integers_of(tensor)));
  if (tensor.layout() != at::kStrided || tensor.numel() == 0 || !tensor.has_storage()) return tensor.clone();
  if (tensor.is_conj() || tensor.is_neg()) return tensor.clone();
  std::int64_t span = 1;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) span += (tensor.size(d) - 1) * tensor.stride(d);
  const auto item = static_cast<std::uintptr_t>(tensor.element_size());
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  const auto shift = static_cast<std::int64_t>(address % limits::payload_alignment / item);
  const at::Tensor room = at::empty({shift + span}, tensor.options());
  room.slice(0, shift).copy_(tensor.as_strided({span}, {1}, tensor.storage_offset()));
  return room.as_strided(tensor.sizes(), tensor.strides(), shift);
}

}  // namespace troupe
