#include "runtime/rewrite/weighted_layer.hpp"

#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/jit/ir/constants.h>

#include "runtime/rewrite/node_reading.hpp"

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;

/// Where an operator has its number of groups, and whether it is transposed.
struct layer_form {
  std::int64_t spatial = 0;
  std::size_t groups_at = 0;
  bool is_transposed = false;
};

std::optional<layer_form> form_of(const Node& node, const at::Tensor& weight) {
  if (has_kind(node, "aten::linear")) return layer_form{};
  for (std::int64_t d = 1; d <= 3; ++d) {
    if (has_kind(node, ("aten::conv" + std::to_string(d) + "d").c_str())) return layer_form{d, 6, false};
    if (has_kind(node, ("aten::conv_transpose" + std::to_string(d) + "d").c_str())) return layer_form{d, 6, true};
  }
  if (!has_kind(node, "aten::convolution") && !has_kind(node, "aten::_convolution")) return std::nullopt;
  const auto is_transposed = constant_bool(node.input(6));
  if (!is_transposed || weight.dim() < 3) return std::nullopt;
  return layer_form{weight.dim() - 2, 8, *is_transposed};
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble);
}

at::Tensor finite_as(const at::Tensor& values, at::ScalarType type) {
  const at::Tensor rounded = values.to(type);
  return at::isfinite(rounded).all().item<bool>() ? rounded : at::Tensor();
}

/// `factor` for each element of the weight: channels of the output are its first dimension, of a transposed convolution
/// the groups of the first one times the second.
at::Tensor scaled_weight(const weighted_layer& layer, const at::Tensor& factor) {
  const at::Tensor wide = layer.weight.to(at::kDouble);
  if (!layer.is_transposed) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(wide.dim()), 1);
    sizes[0] = layer.channels();
    return wide * factor.view(sizes);
  }
  const at::Tensor by_group = factor.view({layer.groups, 1, wide.size(1)});
  at::Tensor all = by_group.expand({layer.groups, wide.size(0) / layer.groups, wide.size(1)}).flatten(0, 1);
  while (all.dim() < wide.dim()) all = all.unsqueeze(-1);
  return wide * all;
}

}  // namespace

std::int64_t weighted_layer::channels() const {
  return is_transposed ? weight.size(1) * groups : weight.size(0);
}

std::optional<weighted_layer> read_weighted_layer(const Node& node) {
  if (node.inputs().size() < 3 || node.outputs().size() != 1) return std::nullopt;
  const auto weight = constant_tensor(node.input(1));
  const auto bias = constant_tensor(node.input(2));
  if (!weight || !is_plain(*weight) || (!bias && !is_none(node.input(2)))) return std::nullopt;
  const auto form = form_of(node, *weight);
  if (!form || weight->dim() != form->spatial + 2) return std::nullopt;
  weighted_layer layer{*weight, bias.value_or(at::Tensor()), form->spatial, 1, form->is_transposed};
  if (form->groups_at > 0) {
    const auto groups = constant_int(node.input(form->groups_at));
    if (!groups || *groups < 1 || weight->size(0) % *groups != 0) return std::nullopt;
    layer.groups = *groups;
  }
  if (!bias) return layer;
  const bool fits = is_plain(*bias) && bias->scalar_type() == weight->scalar_type() && bias->dim() == 1 &&
                    bias->size(0) == layer.channels();
  return fits ? std::optional(layer) : std::nullopt;
}

std::optional<weighted_layer> scaled(const weighted_layer& layer, const at::Tensor& factor, const at::Tensor& shift) {
  weighted_layer made = layer;
  const at::ScalarType type = layer.weight.scalar_type();
  const bool is_bias_meta = layer.bias.defined() && layer.bias.is_meta();
  if (layer.weight.is_meta() || is_bias_meta || factor.is_meta() || shift.is_meta()) {
    made.weight = layer.weight.to(c10::kMeta);
    made.bias = at::empty({layer.channels()}, made.weight.options());
    return made;
  }
  made.weight = finite_as(scaled_weight(layer, factor), type);
  made.bias = finite_as(layer.bias.defined() ? layer.bias.to(at::kDouble) * factor + shift : shift, type);
  if (!made.weight.defined() || !made.bias.defined()) return std::nullopt;
  return made;
}

void set_weights(Node& node, const weighted_layer& layer) {
  torch::jit::WithInsertPoint before(&node);
  node.replaceInput(1, node.owningGraph()->insertConstant(layer.weight));
  node.replaceInput(2, node.owningGraph()->insertConstant(layer.bias));
}

}  // namespace troupe
