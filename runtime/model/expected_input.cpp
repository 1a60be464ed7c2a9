#include "runtime/model/expected_input.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <torch/csrc/jit/ir/constants.h>

#include "runtime/model/libtorch_error.hpp"

namespace troupe {
namespace {

using torch::jit::Node;

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

std::optional<std::string> expected_input(const layered_graph& graph, std::size_t layer) {
  const std::vector<Node*> steps = steps_of(*graph.model().graph);
  const auto crossing = graph.crossing(layer);
  const graph_layer& one = graph.layers().at(layer);
  for (std::size_t step = one.begin; step < one.end; ++step) {
    const Node& node = *steps[step];
    if (node.inputs().size() < 2 || std::ranges::find(crossing, node.inputs()[0]) == crossing.end()) continue;
    const auto weight = torch::jit::toIValue(node.inputs()[1]);
    if (!weight || !weight->isTensor() || !weight->toTensor().defined()) continue;
    if (auto shape = input_of(node, weight->toTensor())) return shape;
  }
  return std::nullopt;
}

std::optional<at::ScalarType> weights_type(const layered_graph& graph, std::size_t layer) {
  const std::vector<Node*> steps = steps_of(*graph.model().graph);
  std::vector<at::Tensor> tensors;
  for (std::size_t step = graph.layers().at(layer).begin; step < graph.layers()[layer].end; ++step)
    each_constant(*steps[step], [&](const at::Tensor& one) { tensors.push_back(one); });
  return floating_type_of(tensors);
}

}  // namespace troupe
