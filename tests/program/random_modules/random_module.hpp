#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include "tests/program/random_modules/random_steps.hpp"

namespace troupe::testing {

/// Steps one after the other; the last one gives the output.
struct random_block {
  std::vector<random_step> steps;
};

/// A chain of blocks as nn.Sequential is one: one to three random ones, Flatten and Linear.
struct random_module {
  std::uint64_t seed = 0;
  /// [samples, ...], of the type and the memory format of the module.
  at::Tensor input;
  std::vector<random_block> blocks;
};

/// The module of a seed. Redrawn until rounding alone changes its output by less than a quarter of tolerance_of() its
/// type, and its output depends on its input.
random_module draw_module(std::uint64_t seed);

/// Largest difference that an optimised module may have, by largest_difference().
double tolerance_of(at::ScalarType dtype);
/// The largest difference of two elements, by the largest magnitude of `wanted`. Infinite for another shape or type,
/// and for a NaN.
double largest_difference(const at::Tensor& found, const at::Tensor& wanted);

/// Calls ATen step by step, without TorchScript; in `dtype`, or as drawn. Does not write `input`.
at::Tensor plain_output(const random_module& module, const at::Tensor& input,
                        std::optional<at::ScalarType> dtype = std::nullopt);
/// The same module as a user would save it.
torch::jit::Module torchscript_of(const random_module& module);
/// Its code, and the shapes of its input and its parameters: enough to write it down by hand.
std::string text_of(const random_module& module);

}  // namespace troupe::testing
