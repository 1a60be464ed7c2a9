#include "runtime/graph/bind_inputs.hpp"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/peephole_non_tensor.h>

#include "messages/check.hpp"
#include "runtime/graph/whole_division.hpp"

namespace troupe {

void simplify(torch::jit::Graph& graph) {
  // a decided branch may decide the next one
  constexpr int rounds_max = 8;
  guard_divisions(*graph.block());
  std::shared_ptr<torch::jit::Graph> shared = graph.shared_from_this();
  for (int round = 0; round < rounds_max; ++round) {
    torch::jit::LowerSimpleTuples(shared);
    const bool folded = torch::jit::ConstantPropagationImmutableTypes(shared);
    const bool decided = torch::jit::PeepholeOptimizeNonTensor(shared);
    torch::jit::EliminateDeadCode(shared);
    if (!folded && !decided) break;
  }
}

void bind_inputs(operator_graph& model, const std::set<std::string>& given) {
  torch::jit::Graph& graph = *model.graph;
  const std::size_t first = model.state ? 1 : 0;
  std::vector<graph_input> bound;
  std::size_t at = first;
  for (graph_input& input : model.inputs) {
    torch::jit::Value* const value = graph.inputs()[at];
    if (!input.otherwise || given.contains(input.name)) {
      // an optional tensor that is given is one
      value->setType(c10::TensorType::get());
      input.otherwise.reset();
      bound.push_back(std::move(input));
      ++at;
      continue;
    }
    const torch::jit::WithInsertPoint begin(*graph.nodes().begin());
    const auto constant = torch::jit::tryInsertConstant(graph, *input.otherwise);
    TROUPE_CHECK(constant.has_value(), "the default value of an argument is a constant");
    value->replaceAllUsesWith(*constant);
    graph.eraseInput(at);
  }
  model.inputs = std::move(bound);
  simplify(graph);
}

}  // namespace troupe
