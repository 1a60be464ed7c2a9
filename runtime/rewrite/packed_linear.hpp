#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace troupe {

/// The weights of a linear layer as a constant of a graph, for the operator
///
///     troupe::linear(Tensor x, __torch__.torch.classes.troupe.PackedLinear w, bool relu) -> Tensor
///
/// which gives relu(x W^T + b), or without relu, as runtime/kernel/packed_linear.hpp defines it: the bits of a row of
/// the result depend on that row of x alone, whatever the number of rows and of LibTorch's threads (at::parallel_for).
///
/// `weight` is [N, K] with any strides, so the transpose of a matrix [K, N] is packed as it lies; float32 or bfloat16,
/// with at least one number, and no more numbers than its memory has. `bias` is undefined or [N], of the same type.
/// Both are kept as they are, and packed when the operator runs first. Throws c10::Error for others and std::bad_alloc.
///
/// The operator takes x [..., K] of the weights' type with any strides and of any rank from 1, and returns a new
/// contiguous [..., N] of that type; c10::Error with both sizes for other shapes and types. It has no gradient.
c10::IValue pack_linear(const at::Tensor& weight, const at::Tensor& bias);

/// Whether pack_linear() takes such a weight and bias. Also those of the meta device (needed_weights.hpp), with which
/// the operator fails.
bool can_pack_linear(const at::Tensor& weight, const at::Tensor& bias);

/// Whether this is such a constant, whose weights have no memory.
bool is_linear_without_weights(const c10::IValue& constant);

}  // namespace troupe
