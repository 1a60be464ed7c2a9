#include "runtime/graph/layered_graph.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "runtime/graph/module_scope.hpp"

namespace troupe {
namespace {

/// Every step of a graph with layers, and every operator that a rewrite puts in the place of such a step, has the scope
/// of its layer: "3" as the path, and "features.0 Conv2d" as the type.
std::size_t layer_of(torch::jit::Node& step) {
  return static_cast<std::size_t>(std::stoull(call_of(*step.scope()).path));
}

void mark_layers(torch::jit::Graph& graph, const std::vector<graph_layer>& layers) {
  const std::vector<torch::jit::Node*> steps = steps_of(graph);
  const auto root = c10::make_intrusive<torch::jit::Scope>();
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const auto scope = scope_inside(root, {std::to_string(layer), title_of(layers[layer])});
    for (std::size_t step = layers[layer].begin; step < layers[layer].end; ++step) steps[step]->setScope(scope);
  }
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
    : model_(std::move(model)), live_(model_), layers_(find_layers(model_, live_, unit)) {
  mark_layers(*model_.graph, layers_);
}

layered_graph::layered_graph(operator_graph rewritten, const layered_graph& plain)
    : model_(std::move(rewritten)), live_(model_), layers_(layers_again(model_, plain.layers_)) {}

std::size_t layered_graph::place_of(std::size_t layer) const {
  return layer == layers_.size() ? live_.steps() : layers_.at(layer).begin;
}

graph_part layered_graph::part(std::size_t begin, std::size_t end, c10::Device device) const {
  return make_part(model_, live_, place_of(begin), place_of(end), device);
}

std::vector<torch::jit::Value*> layered_graph::crossing(std::size_t at) const {
  torch::jit::Graph& graph = *model_.graph;
  if (at == 0) return {graph.inputs().begin() + (model_.state ? 1 : 0), graph.inputs().end()};
  if (at == layers_.size()) return graph.outputs().vec();
  return live_.at(place_of(at));
}

operator_graph layered_graph::copy() const {
  operator_graph made = model_;
  made.graph = model_.graph->copy();
  return made;
}

std::string layer_of_step(torch::jit::Node& step) {
  if (!step.scope() || step.scope()->isBlank()) return "an operator";
  const module_call marked = call_of(*step.scope());
  return "layer " + marked.path + " (" + marked.type + ")";
}

}  // namespace troupe
