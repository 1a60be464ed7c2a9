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

/// Operators that give back their input itself where there is nothing to do, though their schema tells of a new tensor.
constexpr std::array<std::string_view, 7> giving_back = {"dropout",     "feature_dropout", "alpha_dropout", "type_as",
                                                         "_cast_Float", "_cast_Double",    "_cast_Half"};

bool gives_back(const Node& node) {
  return node.kind().is_aten() && std::ranges::find(giving_back, node.kind().toUnqualString()) != giving_back.end();
}

/// So that a write to their output is seen as one to their input.
void look_through(Block& block) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) look_through(*inner);
    if (gives_back(*node)) node->output()->replaceAllUsesWith(node->input(0));
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

written_memory::written_memory(torch::jit::Graph& graph) : copy_(graph.copy()), steps_(steps_of(*copy_)) {
  for (const Node* step : steps_) writers_.push_back(may_write(*step));
  if (std::ranges::none_of(writers_, [](bool writes) { return writes; })) return;
  for (std::size_t at = 0; at < graph.inputs().size(); ++at) twins_.emplace(graph.inputs()[at], copy_->inputs()[at]);
  std::size_t step = 0;
  for (Node* node : graph.nodes()) {
    if (node->kind() == c10::prim::Constant) continue;
    const bool through = gives_back(*node);
    for (std::size_t at = 0; at < node->outputs().size(); ++at) {
      const auto before = through ? twins_.find(node->input(0)) : twins_.end();
      twins_.emplace(node->outputs()[at], before == twins_.end() ? steps_[step]->outputs()[at] : before->second);
    }
    ++step;
  }
  look_through(*copy_->block());
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
