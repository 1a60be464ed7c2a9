#include "runtime/tensor/quantized_tensor.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>

namespace troupe {
namespace {

template <class Integer>
bool holds(std::int64_t value) {
  return value >= std::numeric_limits<Integer>::min() && value <= std::numeric_limits<Integer>::max();
}

template <class Impl, class... Rest>
at::Tensor view_as(const at::Tensor& memory, c10::DispatchKey key, at::ScalarType type, Rest&&... rest) {
  at::Tensor made = at::detail::make_tensor<Impl>(c10::Storage(memory.storage()), c10::DispatchKeySet(key),
                                                  c10::scalarTypeToTypeMeta(type), std::forward<Rest>(rest)...);
  c10::TensorImpl* const impl = made.unsafeGetTensorImpl();
  impl->set_storage_offset(memory.storage_offset());
  impl->set_sizes_and_strides(memory.sizes(), memory.strides());
  return made;
}

at::Tensor quantized_view(const at::Tensor& integers, at::ScalarType type, at::QuantizerPtr quantizer) {
  return view_as<at::QTensorImpl>(integers, c10::DispatchKey::QuantizedCPU, type, std::move(quantizer));
}

}  // namespace

bool is_sound(const affine_scale& scale, at::ScalarType type) {
  if (!std::isfinite(scale.scale) || scale.scale <= 0) return false;
  switch (type) {
    case at::kQUInt8:
      return holds<std::uint8_t>(scale.zero_point);
    case at::kQInt8:
      return holds<std::int8_t>(scale.zero_point);
    case at::kQInt32:
      return holds<std::int32_t>(scale.zero_point);
    default:
      return false;
  }
}

std::optional<affine_scale> affine_scale_of(const at::Tensor& tensor) {
  if (!tensor.is_quantized() || !tensor.device().is_cpu()) return std::nullopt;
  const auto quantizer = at::get_qtensorimpl(tensor)->quantizer();
  // not by qscheme(), which throws for a tensor that was made without a quantizer
  const auto* affine = dynamic_cast<const at::PerTensorAffineQuantizer*>(quantizer.get());
  if (affine == nullptr) return std::nullopt;
  return affine_scale{.scale = affine->scale(), .zero_point = affine->zero_point()};
}

at::Tensor integers_of(const at::Tensor& quantized) {
  return view_as<c10::TensorImpl>(quantized, c10::DispatchKey::CPU, c10::toUnderlying(quantized.scalar_type()));
}

at::Tensor with_scale(const at::Tensor& integers, at::ScalarType type, const affine_scale& scale) {
  return quantized_view(integers, type, at::make_per_tensor_affine_quantizer(scale.scale, scale.zero_point, type));
}

at::Tensor with_quantizer_of(const at::Tensor& like, const at::Tensor& integers) {
  return quantized_view(integers, like.scalar_type(), at::get_qtensorimpl(like)->quantizer());
}

}  // namespace troupe
