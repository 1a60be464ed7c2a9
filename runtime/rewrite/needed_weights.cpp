#include "runtime/rewrite/needed_weights.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include <torch/csrc/jit/ir/constants.h>

#include "runtime/graph/replace_weights.hpp"
#include "runtime/rewrite/fold_channel_maps.hpp"
#include "runtime/rewrite/node_reading.hpp"
#include "runtime/rewrite/packed_convolution.hpp"
#include "runtime/rewrite/packed_linear.hpp"

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;

/// Whether a rewrite may make one operator of this one and the one in front.
bool may_be_joined(const Node& node) {
  return may_be_channel_map(node) || has_kind(node, "aten::relu") || has_kind(node, "aten::relu_") ||
         has_kind(node, "aten::add_");
}

/// The steps whose weights are read when some steps are rewritten and run.
class needed_steps {
 public:
  needed_steps(torch::jit::Graph& graph, const std::vector<Node*>& wanted) {
    for (const Node* node : graph.nodes()) {
      const auto is_known = [&](const Value* input) { return constant_.contains(input->node()); };
      if (node->blocks().empty() && std::ranges::all_of(node->inputs(), is_known)) constant_.insert(node);
    }
    for (const Node* step : wanted) add(*step);
    for (std::size_t at = 0; at < order_.size(); ++at) add_joined(*order_[at]);
  }

  [[nodiscard]] const std::vector<const Node*>& all() const { return order_; }

 private:
  void add(const Node& step) {
    if (step.kind() != c10::prim::Param && known_.insert(&step).second) order_.push_back(&step);
  }

  /// Steps that may be joined with this one, and those that fold_constants() computes for it.
  void add_joined(const Node& step) {
    if (step.outputs().size() > 0) {
      const Node* const next = only_user(step.output(0));
      if (next != nullptr && may_be_joined(*next)) add(*next);
    }
    for (const Value* input : step.inputs()) {
      const Node& source = *input->node();
      const bool is_folded = may_be_joined(step) && only_user(input) == &step;
      if (is_folded || constant_.contains(&source)) add(source);
    }
  }

  std::vector<const Node*> order_;
  std::unordered_set<const Node*> known_;
  /// Those that do not depend on the model's inputs.
  std::unordered_set<const Node*> constant_;
};

bool is_without_memory(const Node& node) {
  bool found = false;
  each_constant(node, [&](const at::Tensor& one) { found = found || one.is_meta(); });
  return found || std::ranges::any_of(node.inputs(), [](const Value* input) {
           const auto held = torch::jit::toIValue(input);
           return held && (is_convolution_without_weights(*held) || is_linear_without_weights(*held));
         });
}

}  // namespace

operator_graph with_weights_of(const layered_graph& model, std::size_t begin, std::size_t end) {
  const std::vector<Node*> steps = steps_of(*model.model().graph);
  const auto place = [&](std::size_t layer) {
    const std::size_t step = layer < model.layers().size() ? model.layers()[layer].begin : steps.size();
    return steps.begin() + static_cast<std::ptrdiff_t>(step);
  };
  std::unordered_set<const c10::TensorImpl*> kept;
  const needed_steps needed(*model.model().graph, {place(begin), place(end)});
  for (const Node* step : needed.all()) {
    each_constant(*step, [&](const at::Tensor& one) { kept.insert(one.unsafeGetTensorImpl()); });
  }
  return replace_weights(model.model(), [&](const graph_weight& weight) {
    return kept.contains(weight.tensor.unsafeGetTensorImpl()) ? weight.tensor : weight.tensor.to(c10::kMeta);
  });
}

bool lacks_weights(const torch::jit::Graph& part) {
  return std::ranges::any_of(part.nodes(), [](const Node* node) { return is_without_memory(*node); });
}

}  // namespace troupe
