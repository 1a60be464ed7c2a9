#pragma once

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace troupe {

/// How far an optimized layer or stage may be from the plain one, as a share of the largest finite magnitude of the
/// plain output. Folding a normalisation or a constant into weights and fusing kernels rounds in another order, which
/// moves outputs by a few eps, over the layers of a whole model by some ten. A fold that is wrong moves them by the
/// size of what was folded, mostly more than a hundredth. The share lies between: 2^7 eps for float32 and float64, 2^3
/// for float16 and 2^2 for bfloat16, whose larger factors would let a wrong fold through. 0, which is equality, for
/// integers, truth values and quantized tensors: these are choices, not roundings.
[[nodiscard]] double tolerance_of(c10::ScalarType dtype);

/// What tells the output of optimized code from that of the plain code, for people; nothing if it may take its place.
/// Beside the values, dtype, layout and shape are to be equal, and the strides of all dimensions with more than one
/// entry, which the next layer sees; where one has NaN or an infinity, the other has the same. Both on the CPU.
/// Throws what LibTorch throws of tensors that it cannot compare.
[[nodiscard]] std::optional<std::string> difference_of(const at::Tensor& optimized, const at::Tensor& plain);

/// Same dtype, layout, shape, strides and bytes of the values. Nested tensors are not looked into. Any devices.
[[nodiscard]] bool are_same_bits(const at::Tensor& one, const at::Tensor& other);

}  // namespace troupe
