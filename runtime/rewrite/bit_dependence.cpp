#include "runtime/rewrite/bit_dependence.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <torch/csrc/jit/ir/constants.h>

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;

/// The same bits for a row in every batch and with every number of threads, in place or not.
constexpr std::array independent = {
    // that move numbers or choose them
    "_to_copy", "_unsafe_view", "alias", "arange", "argmax", "argmin", "as_strided", "broadcast_to", "cat", "chunk",
    "clone", "concat", "constant_pad_nd", "contiguous", "copy", "detach", "diagonal", "embedding", "empty",
    "empty_like", "expand", "expand_as", "fill", "flatten", "flip", "full", "full_like", "gather", "index",
    "index_select", "lift_fresh_copy", "masked_fill", "meshgrid", "movedim", "narrow", "new_full", "new_ones",
    "new_zeros", "ones", "ones_like", "pad", "permute", "pixel_shuffle", "repeat", "repeat_interleave", "reshape",
    "roll", "scalar_tensor", "select", "slice", "split", "split_with_sizes", "squeeze", "stack", "swapaxes", "t",
    "tensor_split", "to", "transpose", "tril", "triu", "type_as", "unbind", "unflatten", "unsafe_split", "unsqueeze",
    "view", "view_as", "where", "zero", "zeros", "zeros_like",
    // that compare and decide
    "__and__", "__is__", "__isnot__", "__not__", "__or__", "bitwise_and", "bitwise_not", "bitwise_or", "eq", "ge", "gt",
    "isinf", "isnan", "le", "logical_and", "logical_not", "logical_or", "lt", "ne",
    // elementwise
    "abs", "add", "addcdiv", "addcmul", "ceil", "clamp", "clamp_max", "clamp_min", "cos", "div", "erf", "exp", "floor",
    "floor_divide", "floordiv", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log", "log1p", "maximum",
    "minimum", "mul", "nan_to_num", "neg", "prelu", "reciprocal", "relu", "relu6", "remainder", "round", "rsqrt",
    "rsub", "sign", "sin", "sqrt", "square", "sub", "tanh",
    // over a sample's own numbers
    "_adaptive_avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "amax", "amin", "avg_pool2d", "batch_norm",
    "cumsum", "dropout", "group_norm", "instance_norm", "layer_norm", "max_pool2d", "max_pool2d_with_indices",
    "native_group_norm", "native_layer_norm", "rms_norm", "scaled_dot_product_attention", "upsample_bicubic2d",
    "upsample_bilinear2d", "upsample_nearest2d", "_native_batch_norm_legit_no_training", "feature_dropout",
    // numbers and sizes
    "Bool", "Float", "Int", "IntImplicit", "ScalarImplicit", "__getitem__", "append", "dim", "len", "numel", "size",
    "sym_size", "item"};

/// The same at one thread. With more, threads share a sample's numbers otherwise for each batch.
constexpr std::array at_one_thread = {"_log_softmax", "_softmax", "log_softmax", "softmax", "cosine_similarity",
                                      "mean",         "norm",     "sum",         "var"};

constexpr std::array of_troupe = {
    "convolution", "convolution_add_", "elu",         "elu_", "gelu", "gelu_",   "is_channels_last", "linear", "mish",
    "mish_",       "of_rank",          "plain_order", "pow",  "pow_", "sigmoid", "sigmoid_",         "silu",   "silu_",
    "softplus"};

constexpr std::array of_sizes = {"floordiv", "__round_to_zero_floordiv", "remainder", "divmod", "gcd"};

template <std::size_t Count>
bool has(const std::array<const char*, Count>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Each thread has whole rows: of a softmax over the last dimension, and of a sum or mean over height and width.
/// LibTorch divides a sum among threads where its result is one number, as that of one sample with a single row is.
bool has_whole_rows(const Node& node) {
  if (node.inputs().size() < 2) return false;
  const auto over = torch::jit::toIValue(node.inputs()[1]);
  if (over && over->isInt()) return over->toInt() == -1;
  return over && over->isIntList() && over->toIntVector().size() >= 2;
}

enum class dependence { none, on_threads, on_batch };

dependence of(const Node& node) {
  std::string_view name = node.kind().toUnqualString();
  if (node.kind().is_prim()) return dependence::none;
  if (std::string_view(node.kind().ns().toUnqualString()) == "troupe")
    return has(of_troupe, name) || has(of_sizes, name) ? dependence::none : dependence::on_batch;
  if (!node.kind().is_aten()) return dependence::on_batch;
  if (name.size() > 1 && name.ends_with('_') && !name.starts_with("__")) name.remove_suffix(1);
  if (has(independent, name)) return dependence::none;
  if (!has(at_one_thread, name)) return dependence::on_batch;
  return has_whole_rows(node) ? dependence::none : dependence::on_threads;
}

/// The first operator of the kind, also inside of blocks.
const Node* first_of(const Block& block, dependence wanted) {
  for (const Node* node : block.nodes()) {
    if (of(*node) == wanted) return node;
    for (const Block* inner : node->blocks()) {
      if (const Node* found = first_of(*inner, wanted)) return found;
    }
  }
  return nullptr;
}

}  // namespace

std::string find_bit_dependence(const operator_graph& model, std::uint32_t threads,
                                const std::function<std::string(Node&)>& layer_of) {
  torch::jit::Graph& graph = *model.graph;
  const auto describe = [&](const std::string& what, const Node& node) {
    Node* step = const_cast<Node*>(&node);  // NOLINT: scope() is not const
    while (step->owningBlock() != graph.block()) step = step->owningBlock()->owningNode();
    return what + " (" + node.kind().toQualString() + " in " + layer_of(*step) + ")";
  };
  if (const Node* found = first_of(*graph.block(), dependence::on_batch))
    return describe("the micro-batch size", *found);
  const Node* const shared = first_of(*graph.block(), dependence::on_threads);
  if (shared == nullptr) return "nothing";
  return threads == 1 ? describe("the number of threads", *shared)
                      : describe("the micro-batch size and the number of threads", *shared);
}

}  // namespace troupe
