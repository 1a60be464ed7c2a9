#include "runtime/training/operator_gradients.hpp"

#include <algorithm>
#include <string_view>

#include <torch/csrc/autograd/function.h>

#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/live_values.hpp"
#include "runtime/graph/operator_graph.hpp"

namespace troupe {
namespace {

/// It stops gradients on purpose, or makes new values of a shape alone.
bool stops_gradients(const torch::jit::Node& step) {
  const std::string_view name = step.kind().toUnqualString();
  return step.kind().is_prim() || name.starts_with("detach") || name.starts_with("new_") || name.ends_with("_like") ||
         name.starts_with("_shape_as_tensor");
}

bool is_without_gradient(const at::Tensor& made) {
  if (!made.defined() || !made.is_floating_point()) return false;
  if (!made.requires_grad()) return true;
  const auto& node = made.grad_fn();
  return node != nullptr && node->name().find("NotImplemented") != std::string::npos;
}

}  // namespace

std::optional<std::string> operator_without_gradient(const graph_part& part, std::vector<at::Tensor> inputs) {
  const operator_graph whole{.file = {}, .graph = part.graph};
  const live_values live(whole);
  const std::vector<torch::jit::Node*> steps = steps_of(*whole.graph);
  for (std::size_t begin = 0; begin < steps.size();) {
    std::size_t end = begin + 1;
    while (end < steps.size() && live.objection(end)) ++end;
    const bool has_gradient = std::ranges::any_of(inputs, [](const at::Tensor& each) { return each.requires_grad(); });
    const std::vector<torch::jit::Value*> crossing = end == steps.size() ? whole.graph->outputs().vec() : live.at(end);
    std::vector<torch::jit::Value*> taken = begin == 0 ? whole.graph->inputs().vec() : live.at(begin);
    // of the operator's own inputs
    bool takes_gradient = false;
    for (std::size_t step = begin; step < end; ++step) {
      for (const torch::jit::Value* each : steps[step]->inputs()) {
        const auto found = std::ranges::find(taken, each);
        if (found != taken.end())
          takes_gradient |= inputs[static_cast<std::size_t>(found - taken.begin())].requires_grad();
      }
    }
    inputs = graph_code(make_part(whole, live, begin, end)).run(std::move(inputs));
    for (std::size_t at = 0; has_gradient && takes_gradient && at < crossing.size(); ++at) {
      torch::jit::Node* const maker = crossing[at]->node();
      const bool is_own = std::find(steps.begin() + static_cast<std::ptrdiff_t>(begin),
                                    steps.begin() + static_cast<std::ptrdiff_t>(end),
                                    maker) != steps.begin() + static_cast<std::ptrdiff_t>(end);
      if (is_own && !stops_gradients(*maker) && is_without_gradient(inputs[at]))
        return maker->kind().toQualString() + place_in_source(*maker);
    }
    begin = end;
  }
  return std::nullopt;
}

}  // namespace troupe
