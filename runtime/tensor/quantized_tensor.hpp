#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

/// Quantized tensors of the host: integers with a quantizer, which has what they mean. The layers of a statically
/// quantized (INT8) model pass them on.
namespace troupe {

/// value = (integer - zero_point) * scale
struct affine_scale {
  double scale = 1;
  std::int64_t zero_point = 0;
};

/// Whether a quantized tensor of this type may have this scale: a finite positive scale, and a zero point that the type
/// holds. False for types that are not quint8, qint8 or qint32.
[[nodiscard]] bool is_sound(const affine_scale& scale, at::ScalarType type);

/// The scale of a quantized tensor on the host that has one for all its elements; nothing for all other tensors.
[[nodiscard]] std::optional<affine_scale> affine_scale_of(const at::Tensor& tensor);

/// The memory of a quantized tensor as plain integers: shared storage, same sizes, strides and offset.
[[nodiscard]] at::Tensor integers_of(const at::Tensor& quantized);
/// The reverse: the memory of `integers`, which have the underlying type of `type`, with the quantizer.
[[nodiscard]] at::Tensor with_scale(const at::Tensor& integers, at::ScalarType type, const affine_scale& scale);
/// The same with the type and the quantizer of `like`, of any kind.
[[nodiscard]] at::Tensor with_quantizer_of(const at::Tensor& like, const at::Tensor& integers);

}  // namespace troupe
