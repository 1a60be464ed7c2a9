#include "runtime/training/operator_gradients.hpp"

#include <algorithm>
#include <exception>
#include <span>

#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/live_values.hpp"
#include "runtime/graph/operator_graph.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/training/gradient_values.hpp"

namespace troupe {
namespace {

/// Some operators say only in the backward pass that they have no derivative.
bool has_no_derivative(const at::Tensor& made, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> wanted;
  for (const at::Tensor& each : inputs) {
    if (each.requires_grad()) wanted.push_back(each);
  }
  try {
    torch::autograd::grad({made}, wanted, {at::ones_like(made)}, true, false, true);
    return false;
  } catch (const std::exception& caught) {
    return libtorch_message(caught).find("is not implemented") != std::string::npos;
  }
}

bool is_without_gradient(const at::Tensor& made, const std::vector<at::Tensor>& inputs) {
  if (!made.defined()) return false;
  if (made.is_quantized()) return true;
  if (!made.is_floating_point()) return false;
  return !made.requires_grad() || has_no_derivative(made, inputs);
}

/// Steps [begin, end), which are run together.
struct step_group {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool takes_gradient(const step_group& group, const std::vector<torch::jit::Node*>& steps,
                    const std::vector<torch::jit::Value*>& crossing, const std::vector<at::Tensor>& inputs) {
  for (std::size_t step = group.begin; step < group.end; ++step) {
    for (const torch::jit::Value* each : inputs_with_values(*steps[step])) {
      const auto found = std::ranges::find(crossing, each);
      if (found != crossing.end() && inputs[static_cast<std::size_t>(found - crossing.begin())].requires_grad())
        return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> operator_without_gradient(const graph_part& part, std::vector<at::Tensor> inputs) {
  const operator_graph whole{.file = {}, .graph = part.graph};
  const live_values live(whole);
  const std::vector<torch::jit::Node*> steps = steps_of(*whole.graph);
  std::vector<torch::jit::Value*> crossing = whole.graph->inputs().vec();
  for (step_group group; group.begin < steps.size(); group.begin = group.end) {
    group.end = group.begin + 1;
    while (group.end < steps.size() && live.objection(group.end)) ++group.end;
    const bool is_checked = takes_gradient(group, steps, crossing, inputs);
    const std::vector<at::Tensor> given = inputs;
    inputs = graph_code(make_part(whole, live, group.begin, group.end)).run(std::move(inputs));
    crossing = group.end == steps.size() ? whole.graph->outputs().vec() : live.at(group.end);
    const auto own = std::span(steps).subspan(group.begin, group.end - group.begin);
    for (std::size_t at = 0; is_checked && at < crossing.size(); ++at) {
      const torch::jit::Node* const maker = crossing[at]->node();
      if (std::ranges::find(own, maker) == own.end() || stops_gradients(*maker)) continue;
      if (is_without_gradient(inputs[at], given)) return maker->kind().toQualString() + place_in_source(*maker);
    }
  }
  return std::nullopt;
}

}  // namespace troupe
