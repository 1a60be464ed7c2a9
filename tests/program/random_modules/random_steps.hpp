#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "tests/program/random_modules/dice.hpp"

namespace troupe::testing {

using tensor_list = std::vector<at::Tensor>;

/// One operation of a block, said twice: as TorchScript, and as a call of ATen, which is what eager PyTorch calls.
struct random_step {
  /// For counts: "conv2d", "constant [C]".
  std::string kind;
  /// $0 and $1 are the inputs, @w is the parameter "w".
  std::string code;
  std::function<at::Tensor(const tensor_list& inputs, const tensor_list& parameters)> plain;
  /// By name, in the order in which `plain` takes them.
  std::vector<std::pair<std::string, at::Tensor>> parameters = {};
  /// Values of the block: 0 is its input, n + 1 the output of step n.
  std::vector<std::size_t> inputs = {};
  /// A module of its own, which has the parameters; else they are the block's.
  bool is_child = false;
  /// The step whose child is called again.
  std::optional<std::size_t> called_again = std::nullopt;
};

using step_maker = std::optional<random_step> (*)(dice& d, const at::Tensor& x);

// Each draws one step that may follow x [N, ...] and keeps the samples apart; nothing where x has no such shape.
// random_layers.cpp:
std::optional<random_step> draw_linear(dice& d, const at::Tensor& x);
std::optional<random_step> draw_convolution(dice& d, const at::Tensor& x);
std::optional<random_step> draw_transposed_convolution(dice& d, const at::Tensor& x);
// random_norms.cpp:
std::optional<random_step> draw_batch_norm(dice& d, const at::Tensor& x);
std::optional<random_step> draw_layer_norm(dice& d, const at::Tensor& x);
std::optional<random_step> draw_group_norm(dice& d, const at::Tensor& x);
std::optional<random_step> draw_instance_norm(dice& d, const at::Tensor& x);
// random_operations.cpp:
std::optional<random_step> draw_constant(dice& d, const at::Tensor& x);
std::optional<random_step> draw_activation(dice& d, const at::Tensor& x);
std::optional<random_step> draw_pooling(dice& d, const at::Tensor& x);
std::optional<random_step> draw_shape(dice& d, const at::Tensor& x);
/// Of two values of one shape.
random_step draw_pair(dice& d, const at::Tensor& first);

/// "[1, 2]"
std::string list_text(const std::vector<std::int64_t>& numbers);
/// A size that other sizes of x have, too, in half of the cases; else 1 to 6.
std::int64_t draw_width(dice& d, const at::Tensor& x);

}  // namespace troupe::testing
