#include "runtime/graph/written_memory.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <torch/csrc/jit/ir/alias_analysis.h>

#include "runtime/graph/operator_graph.hpp"

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

constexpr std::array giving_back = {"_unsafe_view",
                                    "align_tensors",
                                    "alpha_dropout",
                                    "broadcast_tensors",
                                    "cartesian_prod",
                                    "conj_physical",
                                    "data",
                                    "dequantize",
                                    "dropout",
                                    "einsum",
                                    "feature_alpha_dropout",
                                    "feature_dropout",
                                    "flatten_dense_tensors",
                                    "meshgrid",
                                    "to_dense",
                                    "type_as",
                                    "unflatten_dense_tensors"};
constexpr std::array giving_back_families = {"_cast_", "atleast_", "unsafe_"};

bool is_tensor(const Value& value) {
  return value.type()->isSubtypeOf(*c10::TensorType::get());
}
bool is_list(const Value& value) {
  return value.type()->isSubtypeOf(*c10::ListType::ofTensors());
}

using replacements = std::unordered_map<const Value*, Value*>;

/// Puts what an operator may give back in the place of what it gives, so that a write to one is seen as one to the
/// other.
void look_through(Block& block, replacements& into) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) look_through(*inner, into);
    if (!may_give_back(*node) || node->outputs().size() != 1) continue;
    const auto inputs = node->inputs();
    const auto* given =
        std::ranges::find_if(inputs, [](const Value* input) { return is_tensor(*input) || is_list(*input); });
    if (given == inputs.end()) continue;
    Value* same = *given;
    torch::jit::Graph& graph = *node->owningGraph();
    const torch::jit::WithInsertPoint behind(node->next());
    if (is_list(*same) && is_tensor(*node->output())) same = graph.insert(c10::aten::__getitem__, {same, 0});
    if (is_tensor(*same) && is_list(*node->output()))
      same = graph.insertNode(graph.createList(c10::TensorType::get(), {same}))->output();
    into.emplace(node->output(), same);
    node->output()->replaceAllUsesWith(same);
  }
}

bool may_write(const Node& node) {
  const auto* schema = node.maybeSchema();
  if (schema != nullptr && schema->is_mutable()) return true;
  return std::ranges::any_of(node.blocks(), [](const Block* block) {
    return std::ranges::any_of(block->nodes(), [](const Node* inner) { return may_write(*inner); });
  });
}

}  // namespace

bool may_give_back(const Node& node) {
  if (!node.kind().is_aten()) return false;
  const std::string_view name = node.kind().toUnqualString();
  return std::ranges::find(giving_back, name) != giving_back.end() ||
         std::ranges::any_of(giving_back_families, [&](const char* start) { return name.starts_with(start); });
}

written_memory::written_memory(torch::jit::Graph& graph) : copy_(graph.copy()), steps_(steps_of(*copy_)) {
  for (const Node* step : steps_) writers_.push_back(may_write(*step));
  if (std::ranges::none_of(writers_, [](bool writes) { return writes; })) return;
  for (std::size_t at = 0; at < graph.inputs().size(); ++at) twins_.emplace(graph.inputs()[at], copy_->inputs()[at]);
  replacements seen;
  look_through(*copy_->block(), seen);
  std::size_t step = 0;
  for (Node* node : graph.nodes()) {
    if (node->kind() == c10::prim::Constant) continue;
    for (std::size_t at = 0; at < node->outputs().size(); ++at) {
      Value* const twin = steps_[step]->outputs()[at];
      const auto same = seen.find(twin);
      twins_.emplace(node->outputs()[at], same == seen.end() ? twin : same->second);
    }
    ++step;
  }
  aliases_ = std::make_unique<torch::jit::AliasDb>(copy_);
}

written_memory::~written_memory() = default;

bool written_memory::may_be_written(const Value* value, std::size_t step) const {
  if (!writers_.at(step)) return false;
  const auto twin = twins_.find(value);
  return twin != twins_.end() && aliases_->writesToAlias(steps_.at(step), {twin->second});
}

bool written_memory::may_be_written(const Value* value) const {
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    if (may_be_written(value, step)) return true;
  }
  return false;
}

}  // namespace troupe
