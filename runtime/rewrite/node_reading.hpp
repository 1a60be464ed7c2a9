#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace troupe {

/// What passes need to know of nodes and values. Values that are no constants, or of another type, give nothing.

std::optional<at::Tensor> constant_tensor(const torch::jit::Value* value);
std::optional<std::int64_t> constant_int(const torch::jit::Value* value);
std::optional<bool> constant_bool(const torch::jit::Value* value);
/// An integer or a floating-point number; no tensor.
std::optional<double> constant_number(const torch::jit::Value* value);
/// A constant list, or prim::ListConstruct of constants.
std::optional<std::vector<std::int64_t>> constant_ints(const torch::jit::Value* value);
std::optional<std::string> constant_text(const torch::jit::Value* value);
bool is_none(const torch::jit::Value* value);
bool is_tensor(const torch::jit::Value* value);

bool has_kind(const torch::jit::Node& node, const char* qualified_name);

/// The one use of a value where that is by a node of the same block; null if it has another number of uses, or leaves
/// the graph or block.
torch::jit::Node* only_user(const torch::jit::Value* value);

/// Whether the node may write memory that it has not made itself, by its schema. What has blocks or no schema may, but
/// for the constructors of lists and tuples.
bool may_write(const torch::jit::Node& node);

/// An elementwise operator of one tensor (relu, sigmoid, hardswish, ...): the result has the type, the shape and, where
/// the input is dense, the strides of the input.
bool is_elementwise(const torch::jit::Node& node);

/// A pooling over height and width with one result.
bool is_pooling(const torch::jit::Node& node);

/// aten::flatten from dimension 1 to the last.
bool is_flatten_to_rows(const torch::jit::Node& node);

/// Whether each output is in memory that no other value has, whatever the arguments. A list of operators that are known
/// to do so, not the operator's schema, which for some (dropout in eval mode, type_as) does not say that they may
/// return their input.
bool makes_new_tensor(const torch::jit::Node& node);

/// Whether `node` may stand just before `place`, further down in the same block: nothing between them writes, so that
/// its inputs are the same there. The caller knows that no node between them reads its output.
bool can_move_down(const torch::jit::Node& node, const torch::jit::Node& place);

/// Whether `user` may write its result over `value`: no reader can tell, as the memory was made by a node of this
/// graph, so that it is no input and no constant, and all other uses stand before `user`, are in no block, do not leave
/// the graph, and keep no view (makes_new_tensor).
bool can_be_overwritten(const torch::jit::Value* value, const torch::jit::Node& user);

}  // namespace troupe
