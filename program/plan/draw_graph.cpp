#include "program/plan/draw_graph.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "messages/check.hpp"
#include "runtime/rewrite/node_reading.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

class graph_drawer {
 public:
  graph_drawer(const layered_graph& model, std::uint64_t further_samples)
      : model_(model), graph_(*model.model().graph), further_samples_(further_samples) {
    const std::vector<Node*> steps = steps_of(graph_);
    for (std::size_t step = 0; step < steps.size(); ++step) number_.emplace(steps[step], step);
    const std::size_t first = model.model().state ? 1 : 0;
    for (std::size_t at = first; at < graph_.inputs().size(); ++at) {
      arguments_.push_back(graph_.inputs()[at]);
      input_names_.emplace(graph_.inputs()[at], model.model().inputs.at(at - first).name);
    }
  }

  /// What was found at each place.
  void measure(const std::vector<passing_values>& crossing) {
    const std::size_t layers = model_.layers().size();
    TROUPE_CHECK(crossing.size() == layers + 1, "a probe tells of each place");
    note(arguments_, crossing.front());
    for (std::size_t l = 1; l <= layers; ++l) note(crossing_at(l), crossing[l]);
  }

  [[nodiscard]] drawn_model draw() const {
    drawn_model drawn{.file = model_.model().file, .layers = {}};
    const std::size_t layers = model_.layers().size();
    for (std::size_t l = 0; l < layers; ++l) {
      drawn_layer layer = weighed(model_.layers()[l]);
      for (const Value* value : crossing_at(l)) {
        layer.before.values.push_back(drawn_value(*value));
        if (is_used_in(*value, model_.layers()[l])) add_shape(*value, layer.inputs);
      }
      if (l > 0) layer.before.joined_because = model_.objection(l).value_or("");
      for (const Value* value : crossing_at(l + 1)) {
        if (l + 1 == layers || is_made_in(*value, model_.layers()[l])) add_shape(*value, layer.outputs);
      }
      drawn.layers.push_back(std::move(layer));
    }
    return drawn;
  }

 private:
  [[nodiscard]] std::vector<Value*> crossing_at(std::size_t layer) const {
    if (layer == model_.layers().size()) return {graph_.outputs().begin(), graph_.outputs().end()};
    const auto found = model_.crossing(layer);
    std::vector<Value*> values(found.begin(), found.end());
    if (layer == 0) std::erase_if(values, [&](Value* value) { return !input_names_.contains(value); });  // the state
    return values;
  }

  void note(at::ArrayRef<Value*> which, const passing_values& values) {
    TROUPE_CHECK(which.size() == values.size(), "a probe tells of each value");
    for (std::size_t at = 0; at < values.size(); ++at) sizes_.insert_or_assign(which[at], values[at]);
  }

  static drawn_layer weighed(const graph_layer& layer) {
    return {.name = layer.name,
            .type = layer.type,
            .parameters = layer.parameters,
            .trainable = layer.trainable,
            .weight_bytes = layer.parameter_bytes + layer.buffer_bytes,
            .uncut = layer.uncut.value_or("")};
  }

  [[nodiscard]] crossing_value drawn_value(const Value& value) const {
    crossing_value drawn;
    if (const auto input = input_names_.find(&value); input != input_names_.end()) {
      drawn.made_by = input->second;
    } else {
      const auto& layers = model_.layers();
      const auto maker = std::ranges::find_if(layers, [&](const graph_layer& each) { return is_made_in(value, each); });
      drawn.made_by = maker->name;
      drawn.layer = static_cast<std::size_t>(maker - layers.begin());
    }
    if (const auto size = sizes_.find(&value); size != sizes_.end()) {
      if (is_tensor(&value)) drawn.shape = size->second.shape;
      drawn.bytes = size->second.bytes + size->second.bytes_per_sample * further_samples_;
    }
    return drawn;
  }

  void add_shape(const Value& value, std::vector<std::vector<std::int64_t>>& to) const {
    const auto found = sizes_.find(&value);
    if (found != sizes_.end() && is_tensor(&value) && found->second.shape) to.push_back(*found->second.shape);
  }

  [[nodiscard]] std::size_t step_around(const Node* node) const {
    while (node->owningBlock() != graph_.block()) node = node->owningBlock()->owningNode();
    const auto found = number_.find(node);
    return found == number_.end() ? number_.size() : found->second;  // the end of the graph
  }
  [[nodiscard]] bool is_made_in(const Value& value, const graph_layer& layer) const {
    const auto maker = number_.find(value.node());
    return maker != number_.end() && maker->second >= layer.begin && maker->second < layer.end;
  }
  /// Also as a member of a list that each stage makes for itself.
  [[nodiscard]] bool is_used_in(const Value& value, const graph_layer& layer) const {
    return std::ranges::any_of(value.uses(), [&](const torch::jit::Use& use) {
      const std::size_t step = step_around(use.user);
      if (step >= layer.begin && step < layer.end) return true;
      return use.user->outputs().size() == 1 && is_made_again(*use.user->output()) &&
             is_used_in(*use.user->output(), layer);
    });
  }

  const layered_graph& model_;
  Graph& graph_;
  std::uint64_t further_samples_;
  std::unordered_map<const Node*, std::size_t> number_;
  /// Inputs but a state.
  std::vector<Value*> arguments_;
  std::unordered_map<const Value*, std::string> input_names_;
  std::unordered_map<const Value*, passing_value> sizes_;
};

}  // namespace

drawn_model draw(const layered_graph& model, const std::vector<passing_values>& crossing,
                 std::uint64_t further_samples) {
  graph_drawer drawer(model, further_samples);
  if (!crossing.empty()) drawer.measure(crossing);
  drawn_model drawn = drawer.draw();
  if (!crossing.empty()) drawn.output_bytes = bytes_of(crossing.back(), further_samples);
  return drawn;
}

}  // namespace troupe
