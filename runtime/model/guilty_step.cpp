#include "runtime/model/guilty_step.hpp"

#include <utility>

#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/model/libtorch_error.hpp"

namespace troupe {
namespace {

guilty_step describe(torch::jit::Node& step, const operator_graph& part, const live_values& live, std::size_t place,
                     const graph_values& inputs) {
  guilty_step found{.layer = layer_of_step(step), .step = step.kind().toQualString() + place_in_source(step)};
  const auto crossing = place == 0 ? part.graph->inputs().vec() : live.at(place);
  for (const torch::jit::Value* taken : step.inputs()) {
    for (std::size_t at = 0; at < inputs.size() && !found.input.defined(); ++at) {
      if (crossing.at(at) == taken) found.input = inputs[at];
    }
  }
  std::vector<at::Tensor> constants;
  each_constant(step, [&](const at::Tensor& one) { constants.push_back(one); });
  found.weights = floating_type_of(constants);
  return found;
}

}  // namespace

guilty_step find_guilty(const graph_part& part, graph_values inputs) {
  guilty_step found;
  try {
    const operator_graph whole{.file = {}, .graph = part.graph, .state = part.state};
    if (whole.state) return found;
    const live_values live(whole);
    const std::vector<torch::jit::Node*> steps = steps_of(*whole.graph);
    for (std::size_t begin = 0; begin < steps.size();) {
      std::size_t end = begin + 1;
      while (end < steps.size() && live.objection(end)) ++end;
      found = describe(*steps[begin], whole, live, begin, inputs);
      inputs = graph_code(make_part(whole, live, begin, end)).run(std::move(inputs));
      begin = end;
    }
    return {};
  } catch (const std::exception&) {
    return found;
  }
}

}  // namespace troupe
