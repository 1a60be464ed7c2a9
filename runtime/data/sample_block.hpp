#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include <troupe/data_set.hpp>

namespace troupe {

/// Calls data.read(range) and checks the block. E0604: an exception, which is told with the samples; no input; a tensor
/// that is undefined, not on the CPU, or has another number of rows than `range`. All tensors of the result are
/// contiguous.
expected<sample_block> read_samples(const data_set& data, sample_range range);

/// The input of a block for a model that is a chain of layers, which takes one: E0209 where there are several. `model`
/// is the place of the error.
expected<at::Tensor> single_input(const sample_block& block, const std::string& model);

/// Bytes of all tensors.
std::uint64_t bytes_of(const named_tensors& tensors);

}  // namespace troupe
