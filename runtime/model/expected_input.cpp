#include "runtime/model/expected_input.hpp"

#include <array>
#include <string_view>

#include <torch/csrc/jit/ir/constants.h>

#include "runtime/model/chain_graph.hpp"
#include "runtime/model/libtorch_error.hpp"

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;

/// The tensor behind a value: a chain of attributes of the module, or a constant.
std::optional<at::Tensor> tensor_behind(const Value* value, const Value* self, const torch::jit::Module& module) {
  if (const auto constant = torch::jit::toIValue(value)) {
    return constant->isTensor() ? std::optional(constant->toTensor()) : std::nullopt;
  }
  std::vector<std::string> path;
  for (; value != self; value = value->node()->inputs()[0]) {
    if (value->node()->kind() != c10::prim::GetAttr) return std::nullopt;
    path.push_back(value->node()->s(c10::attr::name));
  }
  c10::IValue found = module._ivalue();
  for (auto name = path.rbegin(); name != path.rend(); ++name) {
    if (!found.isObject()) return std::nullopt;
    found = found.toObject()->getAttr(*name);
  }
  return found.isTensor() ? std::optional(found.toTensor()) : std::nullopt;
}

std::string convolution_input(const Node& node, const at::Tensor& weight) {
  static constexpr std::array<std::string_view, 3> space{", L]", ", H, W]", ", D, H, W]"};
  std::int64_t groups = 1;
  const bool general = std::string_view(node.kind().toUnqualString()) == "_convolution";
  const std::size_t groups_at = general ? 8 : 6;
  if (node.inputs().size() > groups_at) {
    if (const auto given = torch::jit::toIValue(node.inputs()[groups_at]); given && given->isInt())
      groups = given->toInt();
  }
  const auto dims = static_cast<std::size_t>(weight.dim() - 3);
  return "[N, " + std::to_string(weight.size(1) * groups) + std::string(space[dims]);
}

std::optional<std::string> input_of(const Node& node, const at::Tensor& weight) {
  const std::string_view kind = node.kind().toUnqualString();
  const bool convolution = kind == "_convolution" || kind == "conv1d" || kind == "conv2d" || kind == "conv3d";
  if (convolution && weight.dim() >= 3 && weight.dim() <= 5) return convolution_input(node, weight);
  if (kind == "linear" && weight.dim() == 2) return "[N, ..., " + std::to_string(weight.size(1)) + "]";
  if (kind == "batch_norm" && weight.dim() == 1) return "[N, " + std::to_string(weight.size(0)) + ", ...]";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> expected_input(const torch::jit::Module& module) {
  const auto graph = inlined_forward(module);
  const Value* self = graph->inputs()[0];
  for (const torch::jit::Use& use : graph->inputs()[1]->uses()) {
    const Node& node = *use.user;
    if (use.offset != 0 || node.inputs().size() < 2) continue;
    if (const auto weight = tensor_behind(node.inputs()[1], self, module)) {
      if (auto shape = input_of(node, *weight)) return shape;
    }
  }
  return std::nullopt;
}

std::optional<at::ScalarType> weights_type(const torch::jit::Module& module) {
  std::vector<at::Tensor> tensors;
  for (const at::Tensor& each : module.parameters()) tensors.push_back(each);
  for (const at::Tensor& each : module.buffers()) tensors.push_back(each);
  return floating_type_of(tensors);
}

}  // namespace troupe
