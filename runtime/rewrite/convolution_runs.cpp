#include "runtime/rewrite/convolution_runs.hpp"

#include <algorithm>

#include <torch/csrc/jit/ir/alias_analysis.h>

#include "runtime/rewrite/node_reading.hpp"
#include "runtime/rewrite/weighted_layer.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// Its output has the order of its first input.
bool keeps_order(const Node& node) {
  return is_elementwise(node) || is_pooling(node) ||
         (has_kind(node, "aten::batch_norm") && constant_bool(node.input(5)) == false);
}

bool is_constant_padding(const Node& node) {
  if (has_kind(node, "aten::constant_pad_nd")) return true;
  return has_kind(node, "aten::pad") && constant_text(node.input(2)) == "constant";
}

/// A view, also of views, that only a padding reads, so that no reader sees its strides.
bool is_padded_slice(const Node& node) {
  const Node* reader = &node;
  while (reader != nullptr && has_kind(*reader, "aten::slice") && is_tensor(reader->output()))
    reader = only_user(reader->output());
  return reader != nullptr && reader != &node && is_constant_padding(*reader);
}

bool is_blind_to_order(const Node& node) {
  return is_flatten_to_rows(node) || has_kind(node, "aten::mean") || has_kind(node, "aten::size") ||
         has_kind(node, "aten::dim");
}

bool joins_two(const Node& node) {
  return (has_kind(node, "aten::add") || has_kind(node, "aten::mul")) && is_tensor(node.input(1));
}

}  // namespace

std::optional<convolution_form> read_convolution(const Node& node) {
  const auto layer = read_weighted_layer(node);
  if (!layer || layer->spatial != 2 || layer->is_transposed || node.inputs().size() < 7) return std::nullopt;
  const at::Tensor& weight = layer->weight;
  const bool fits = weight.scalar_type() == at::kFloat && (weight.is_cpu() || weight.is_meta()) && weight.numel() > 0 &&
                    weight.suggest_memory_format() == at::MemoryFormat::Contiguous;
  const auto stride = constant_ints(node.input(3));
  const auto padding = constant_ints(node.input(4));
  const auto dilation = constant_ints(node.input(5));
  if (!fits || !stride || !padding || !dilation) return std::nullopt;
  const auto is_positive = [](std::int64_t number) { return number > 0; };
  const bool has_sizes = stride->size() == 2 && padding->size() == 2 && dilation->size() == 2 &&
                         std::ranges::all_of(*stride, is_positive) && std::ranges::all_of(*dilation, is_positive) &&
                         std::ranges::all_of(*padding, [](std::int64_t number) { return number >= 0; });
  if (!has_sizes) return std::nullopt;
  return convolution_form{weight, layer->bias, *stride, *padding, *dilation, layer->groups};
}

convolution_runs::convolution_runs(Graph& graph) : graph_(graph) {
  find(true);
  // A slice of a channels-last tensor may be in no order, so that the plain order behind it is not the entry's.
  if (has_strangers_behind_slices()) find(false);
}

Value* convolution_runs::entry(const Value* value) const {
  const auto found = entry_of_.find(value);
  return found == entry_of_.end() ? nullptr : found->second;
}

std::vector<Node*> convolution_runs::members() const {
  std::vector<Node*> found;
  for (Node* node : graph_.nodes()) {
    if (members_.contains(node)) found.push_back(node);
  }
  return found;
}

std::vector<torch::jit::Use> convolution_runs::strangers(const Value& value) const {
  std::vector<torch::jit::Use> found;
  for (const torch::jit::Use& use : value.uses()) {
    if (!members_.contains(use.user) && !is_blind_to_order(*use.user)) found.push_back(use);
  }
  return found;
}

bool convolution_runs::may_be_written(const std::shared_ptr<Graph>& graph) const {
  if (std::ranges::none_of(graph->nodes(), [](const Node* node) { return may_write(*node); })) return false;
  const torch::jit::AliasDb aliases(graph);
  return std::ranges::any_of(entry_of_, [&](const auto& each) { return aliases.hasWriters(each.first); });
}

void convolution_runs::add(const Node& node, Value* entry) {
  members_.insert(&node);
  entry_of_[node.output()] = entry;
}

void convolution_runs::remove(const Node& node) {
  members_.erase(&node);
  entry_of_.erase(node.output());
}

void convolution_runs::find(bool with_slices) {
  entry_of_.clear();
  members_.clear();
  for (Node* node : graph_.nodes()) {
    if (Value* const run = run_of(*node, with_slices)) add(*node, run);
  }
  forget_short_runs();
}

/// The entry of the run whose next value the node makes; null where it makes none.
Value* convolution_runs::run_of(Node& node, bool with_slices) {
  if (node.inputs().empty() || node.outputs().size() != 1) return nullptr;
  Value* const first = node.input(0);
  if (read_convolution(node)) return entry(first) != nullptr ? entry(first) : first;
  if (has_kind(node, "aten::cat")) return run_of_list(*first);
  if (keeps_order(node) || is_constant_padding(node) || (with_slices && is_padded_slice(node))) return entry(first);
  return joins_two(node) && entry(first) == entry(node.input(1)) ? entry(first) : nullptr;
}

Value* convolution_runs::run_of_list(const Value& list) {
  const Node& made = *list.node();
  if (made.kind() != c10::prim::ListConstruct || made.inputs().empty() || list.uses().size() != 1) return nullptr;
  Value* const run = entry(made.input(0));
  const bool is_one = std::ranges::all_of(made.inputs(), [&](const Value* each) { return entry(each) == run; });
  if (run == nullptr || !is_one) return nullptr;
  members_.insert(&made);
  return run;
}

void convolution_runs::forget_short_runs() {
  std::unordered_map<const Value*, std::size_t> convolutions;
  for (const auto& [value, run] : entry_of_) convolutions[run] += read_convolution(*value->node()) ? 1 : 0;
  for (auto each = entry_of_.begin(); each != entry_of_.end();) {
    if (convolutions[each->second] >= 2) {
      ++each;
      continue;
    }
    const Node& node = *each->first->node();
    members_.erase(&node);
    if (has_kind(node, "aten::cat")) members_.erase(node.input(0)->node());
    each = entry_of_.erase(each);
  }
}

bool convolution_runs::has_strangers_behind_slices() const {
  std::unordered_set<const Value*> sliced;
  for (const Node* node : members_) {
    if (has_kind(*node, "aten::slice")) sliced.insert(entry(node->output()));
  }
  return std::ranges::any_of(
      entry_of_, [&](const auto& each) { return sliced.contains(each.second) && !strangers(*each.first).empty(); });
}

}  // namespace troupe
