#include "runtime/rewrite/simplify.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtime/rewrite/known_values.hpp"
#include "runtime/rewrite/node_reading.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

bool changes_form_in_place(const Node& node) {
  static constexpr std::array<std::string_view, 12> kinds = {
      "aten::t_",      "aten::transpose_", "aten::swapaxes_",   "aten::swapdims_", "aten::squeeze_", "aten::unsqueeze_",
      "aten::resize_", "aten::resize_as_", "aten::as_strided_", "aten::set_",      "aten::rename_",  "aten::detach_"};
  return std::ranges::find(kinds, node.kind().toQualString()) != kinds.end();
}

bool has_form_change(const torch::jit::Block& block) {
  return std::ranges::any_of(block.nodes(), [](const Node* node) {
    return changes_form_in_place(*node) ||
           std::ranges::any_of(node->blocks(), [](const torch::jit::Block* inner) { return has_form_change(*inner); });
  });
}

bool is_dropout(const Node& node) {
  static constexpr std::array<std::string_view, 6> kinds = {"aten::dropout",         "aten::dropout_",
                                                            "aten::feature_dropout", "aten::feature_dropout_",
                                                            "aten::alpha_dropout",   "aten::alpha_dropout_"};
  return std::ranges::find(kinds, node.kind().toQualString()) != kinds.end() && constant_bool(node.input(2)) == false;
}

bool is_contiguous_already(const Node& node) {
  if (!has_kind(node, "aten::contiguous")) return false;
  const auto order = constant_int(node.input(1));
  const Node& maker = *node.input(0)->node();
  return order == static_cast<std::int64_t>(at::MemoryFormat::Contiguous) &&
         (has_kind(maker, "aten::linear") || has_kind(maker, "aten::mm") || has_kind(maker, "aten::addmm"));
}

bool is_identity(const Node& node, bool has_form_changes) {
  if (node.inputs().empty() || node.outputs().size() != 1) return false;
  if (is_dropout(node) || is_contiguous_already(node)) return true;
  const bool is_other_name =
      has_kind(node, "aten::detach") || has_kind(node, "aten::alias") || has_kind(node, "aten::lift_fresh");
  return is_other_name && !has_form_changes;
}

bool only_raises(const torch::jit::Block& block) {
  bool raises = false;
  for (const Node* node : block.nodes()) {
    const bool is_raise = node->kind() == c10::prim::RaiseException;
    raises = raises || is_raise;
    if (!is_raise && (node->hasSideEffects() || !node->blocks().empty() || may_write(*node))) return false;
  }
  return raises;
}

/// Computed from nothing but numbers of dimensions, sizes and constants.
bool is_about_sizes(const torch::jit::Value* value) {
  static constexpr std::array<std::string_view, 11> kinds = {
      "aten::eq",  "aten::ne",      "aten::lt",      "aten::le",     "aten::gt",          "aten::ge",
      "aten::len", "aten::__not__", "aten::__and__", "aten::__or__", "aten::__contains__"};
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> left = {value->node()};
  while (!left.empty()) {
    const Node& node = *left.back();
    left.pop_back();
    const bool is_known = node.kind() == c10::prim::Constant || has_kind(node, "aten::dim") ||
                          has_kind(node, "aten::size") || !seen.insert(&node).second;
    if (is_known) continue;
    const bool looks_through =
        node.kind() == c10::prim::ListConstruct || std::ranges::find(kinds, node.kind().toQualString()) != kinds.end();
    if (!looks_through) return false;
    for (const torch::jit::Value* input : node.inputs()) left.push_back(input->node());
  }
  return true;
}

bool is_check(const Node& node) {
  if (node.kind() != c10::prim::If || !node.outputs().empty() || !is_about_sizes(node.input(0))) return false;
  const auto is_empty = [](const torch::jit::Block& block) { return block.nodes().begin() == block.nodes().end(); };
  const torch::jit::Block& first = *node.blocks()[0];
  const torch::jit::Block& second = *node.blocks()[1];
  return (only_raises(first) && is_empty(second)) || (is_empty(first) && only_raises(second));
}

/// "aten::relu" for aten::relu_; empty for operators that are left as they are.
std::string name_without_writing(const Node& node, const known_values& known) {
  static constexpr std::array<std::string_view, 10> elementwise = {
      "aten::relu_",        "aten::sigmoid_",  "aten::tanh_",  "aten::silu_",       "aten::hardswish_",
      "aten::hardsigmoid_", "aten::hardtanh_", "aten::relu6_", "aten::leaky_relu_", "aten::elu_"};
  static constexpr std::array<std::string_view, 4> arithmetic = {"aten::add_", "aten::sub_", "aten::mul_",
                                                                 "aten::div_"};
  const std::string name = node.kind().toQualString();
  std::string without = name.substr(0, name.size() - 1);
  if (std::ranges::find(elementwise, name) != elementwise.end()) return without;
  if (std::ranges::find(arithmetic, name) == arithmetic.end() || !known.is_float32(node.input(0))) return "";
  const bool fits = known.is_float32(node.input(1)) || constant_number(node.input(1)).has_value();
  return fits ? without : "";
}

}  // namespace

void simplify(Graph& graph, rewrite_report& report) {
  const bool has_form_changes = has_form_change(*graph.block());
  known_values known;
  for (Node* node = *graph.nodes().begin(); node != graph.return_node();) {
    Node* const next = node->next();
    if (is_check(*node)) {
      node->destroy();
      ++report.removed_operators;
    } else if (is_identity(*node, has_form_changes)) {
      node->output()->replaceAllUsesWith(node->input(0));
      node->destroy();
      ++report.removed_operators;
    } else if (const auto name = name_without_writing(*node, known);
               !name.empty() && can_be_overwritten(node->input(0), *node)) {
      known.note(*node->replaceWithNewSymbol(c10::Symbol::fromQualString(name)));
      node->destroy();
      ++report.operators_not_in_place;
    } else {
      known.note(*node);
    }
    node = next;
  }
}

}  // namespace troupe
