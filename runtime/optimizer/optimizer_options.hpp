#pragma once

#include <span>
#include <string_view>

#include <troupe/error.hpp>
#include <troupe/training.hpp>

namespace troupe {

/// What an optimizer keeps of each parameter, by PyTorch's names in the state of an optimizer, in the order of the
/// memory: "momentum_buffer" (sgd with momentum), "exp_avg", "exp_avg_sq" and "max_exp_avg_sq" (amsgrad).
std::span<const std::string_view> moment_names(const optimizer_options& options);

/// The values that PyTorch allows: weight_decay, momentum, dampening and eps are not negative, betas are from 0 to
/// below 1, and nesterov has momentum and no dampening. E0103 names the option. What the kind does not use may have any
/// value.
expected<void> check(const optimizer_options& options);

}  // namespace troupe
