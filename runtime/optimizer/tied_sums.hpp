#pragma once

#include <cstddef>
#include <span>

#include <ATen/core/Tensor.h>

#include "messages/payload.hpp"
#include "runtime/optimizer/finish_blocks.hpp"
#include "runtime/optimizer/parameter_layout.hpp"
#include <troupe/error.hpp>

namespace troupe {

// What stages that share tied parameters send to each other: a tensor of bytes with the sums of the places in the part,
// each at a multiple of 64, and a table (int64) with a row for each: a hash of the parameter's name, the layer of the
// place, and where its bytes begin.

/// `sums`: gradient_tree::sum(). Null where it is undefined, and where no parameter is shared.
[[nodiscard]] payload_ptr pack_tied_sums(const parameter_layout& layout, const at::Tensor& sums);

/// Adds the places in other stages. `tied` as in trained_parameters::finish(), `replicas` of each stage. E0702 where it
/// is not of that form, or a place of a tied parameter is missing or comes twice. What other stages share with each
/// other is left alone.
[[nodiscard]] expected<void> add_tied_sums(parameter_sums& into, const parameter_layout& layout,
                                           std::span<const payload_ptr> tied, std::size_t replicas);

}  // namespace troupe
