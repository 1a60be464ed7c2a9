#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace troupe {

/// A 2-dimensional convolution, not transposed.
struct convolution_form {
  at::Tensor weight;                 ///< [N, C / groups, height, width] of float32 on the CPU
  at::Tensor bias;                   ///< [N] of float32, or undefined
  std::vector<std::int64_t> stride;  ///< this and the next two: height, width
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> dilation;
  std::int64_t groups = 1;
};

/// The convolution as a constant of a graph, for the operators below. The weights are brought into the order that
/// oneDNN wants at the first call, for the sizes of that x, and shared from then on; calls of any threads.
///
///     troupe::convolution(Tensor x, PackedConvolution w, bool relu) -> Tensor
///     troupe::convolution_add_(Tensor(a!) skip, Tensor x, PackedConvolution w, bool relu) -> Tensor(a!)
///
/// They take x [samples, C, height, width], or without samples, of float32 with any strides. The first one gives a new
/// tensor in channels-last order, without samples in the order that aten::conv2d gives. The second one gives the
/// convolution plus `skip`: in the memory of `skip` if that has the sizes and the type of the convolution, and as
/// aten::add gives it otherwise. `skip` shares no memory with x. With `relu`, the result's negative numbers become 0.
/// Others throw c10::Error, with sizes.
///
///     troupe::is_channels_last(Tensor x) -> int
///     troupe::plain_order(Tensor(a) x, int channels_last) -> Tensor(a)
///
/// Where the first one gives 1 for the input of a convolution, LibTorch's own convolution would give channels-last
/// order, too. The second one gives x itself for 1, and x in contiguous order for 0.
c10::IValue pack_convolution(const convolution_form& form);

/// Whether this is such a constant, whose weights have no memory (needed_weights.hpp).
bool is_convolution_without_weights(const c10::IValue& constant);

/// Whether this LibTorch has oneDNN for this processor, and it is not switched off.
bool can_pack_convolutions();

}  // namespace troupe
