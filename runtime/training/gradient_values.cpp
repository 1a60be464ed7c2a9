#include "runtime/training/gradient_values.hpp"

#include <algorithm>
#include <string_view>

#include "runtime/graph/operator_graph.hpp"

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

bool writes(const Node& step) {
  const auto* const schema = step.maybeSchema();
  return schema != nullptr && schema->is_mutable();
}

}  // namespace

at::ArrayRef<const Value*> inputs_with_values(const Node& step) {
  const std::string_view name = step.kind().toUnqualString();
  const auto inputs = step.inputs();
  return name.ends_with("_as") || name == "to" ? inputs.slice(0, 1) : inputs;
}

bool stops_gradients(const Node& step) {
  const std::string_view name = step.kind().toUnqualString();
  return step.kind().is_prim() || name.starts_with("detach") || name.starts_with("new_") || name.ends_with("_like") ||
         name.starts_with("_shape_as_tensor");
}

gradient_values::gradient_values(const torch::jit::Graph& graph, const trained_test& is_trained) {
  find_in(*graph.block(), is_trained);
}

void gradient_values::find_in(const Block& block, const trained_test& is_trained) {
  for (const Node* step : block.nodes()) {
    for (const Block* inner : step->blocks()) find_in(*inner, is_trained);
    if (!carries(*step, is_trained)) continue;
    are_all_ |= writes(*step);
    for (const Value* each : step->outputs()) found_.insert(each);
  }
}

bool gradient_values::carries(const Node& step, const trained_test& is_trained) const {
  if (stops_gradients(step) && !step.kind().is_prim()) return false;
  bool is_of_weights = false;
  each_constant(step, [&](const at::Tensor& each) { is_of_weights |= is_trained(each); });
  const auto is_found = [this](const Value* each) { return found_.contains(each); };
  return is_of_weights || std::ranges::any_of(inputs_with_values(step), is_found) ||
         std::ranges::any_of(step.blocks(),
                             [&](const Block* inner) { return std::ranges::any_of(inner->outputs(), is_found); });
}

}  // namespace troupe
