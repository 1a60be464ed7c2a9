#include "runtime/graph/layered_graph.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "runtime/graph/module_scope.hpp"

namespace troupe {
namespace {

/// Of a step of a marked graph. Operators that a rewrite adds have the scope of those that they replace.
std::size_t layer_of(torch::jit::Node& step) {
  return static_cast<std::size_t>(std::stoull(call_of(*step.scope()).path));
}

/// Layer i begins behind all steps of layers before it, so that places ascend whatever rewrites have moved.
std::vector<graph_layer> layers_again(const operator_graph& rewritten, std::vector<graph_layer> layers) {
  const std::vector<torch::jit::Node*> steps = steps_of(*rewritten.graph);
  for (graph_layer& each : layers) each.end = 0;
  for (std::size_t step = 0; step < steps.size(); ++step) layers.at(layer_of(*steps[step])).end = step + 1;
  std::size_t last = 0;
  for (graph_layer& each : layers) {
    each.begin = last;
    each.end = last = std::max(last, each.end);
  }
  if (!layers.empty()) layers.back().end = steps.size();
  return layers;
}

}  // namespace

layered_graph::layered_graph(operator_graph model, layer_unit unit)
    : model_(std::move(model)), live_(model_), layers_(find_layers(model_, live_, unit)) {}

layered_graph::layered_graph(operator_graph rewritten, const layered_graph& plain)
    : model_(std::move(rewritten)), live_(model_), layers_(layers_again(model_, plain.layers_)) {}

std::size_t layered_graph::place_of(std::size_t layer) const {
  return layer == layers_.size() ? live_.steps() : layers_.at(layer).begin;
}

graph_code layered_graph::code_of(std::size_t begin, std::size_t end, c10::Device device) const {
  return graph_code(make_part(model_, live_, place_of(begin), place_of(end), device));
}

std::span<torch::jit::Value* const> layered_graph::crossing(std::size_t at) const {
  return live_.at(place_of(at));
}

operator_graph mark_layers(const layered_graph& plain) {
  operator_graph copy = plain.model();
  copy.graph = plain.model().graph->copy();
  const std::vector<torch::jit::Node*> steps = steps_of(*copy.graph);
  const auto root = c10::make_intrusive<torch::jit::Scope>();
  for (std::size_t layer = 0; layer < plain.layers().size(); ++layer) {
    const auto scope = scope_inside(root, {std::to_string(layer), plain.layers()[layer].type});
    for (std::size_t step = plain.layers()[layer].begin; step < plain.layers()[layer].end; ++step)
      steps[step]->setScope(scope);
  }
  return copy;
}

}  // namespace troupe
