#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include <troupe/data_set.hpp>

namespace troupe {

/// Calls data.read(range) and checks the block. E0604: an exception, which is told with the samples; no input; a tensor
/// that is undefined, not on the CPU, or has another number of rows than `range`. All tensors of the result are
/// contiguous, and may be views of the data set's memory.
expected<sample_block> read_samples(const data_set& data, sample_range range);

/// The same, of tensors that stay as they are when the data set fills its memory anew (taken()). Throws where there is
/// no memory for a copy.
expected<sample_block> read_samples_to_keep(const data_set& data, sample_range range);
/// taken() of each tensor, which no other handle than these may share to be its only owner.
named_tensors taken_all(const named_tensors& given, bool is_constant);

/// Bytes of all tensors.
std::uint64_t bytes_of(const named_tensors& tensors);

}  // namespace troupe
