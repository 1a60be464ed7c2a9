#pragma once

#include <cstdint>

#include "runtime/optimizer/trained_parameters.hpp"
#include "runtime/training/trained_part.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

// The state of a stage by the names of the model's state dict, as checkpoints have it.

/// Parameters, buffers and constants, without copies of those that a stage before has: views, which the next step
/// makes old.
[[nodiscard]] state_dict weights_of(const trained_part& part, const trained_parameters& values);
/// By "NAME.MOMENT", such as "0.weight.exp_avg": views, too, without copies.
[[nodiscard]] state_dict moments_of(const trained_part& part, const trained_parameters& values);
/// Sets them, copies as well. Without `moments` these are zero. E0218 names a tensor that is missing or has other
/// sizes; others are left alone.
[[nodiscard]] expected<void> restore(trained_parameters& values, const trained_part& part, const state_dict& weights,
                                     const state_dict& moments, std::uint64_t step);

}  // namespace troupe
