#include "runtime/rewrite/constant_folding.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <ATen/Functions.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "runtime/rewrite/node_reading.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// More bytes than the folded constants had, over the whole graph.
constexpr std::uint64_t most_bytes_more = std::uint64_t{1} << 20;

std::uint64_t bytes_of(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() ? value.toTensor().nbytes() : 0;
  std::uint64_t all = 0;
  if (value.isTensorList()) {
    for (const at::Tensor& each : value.toTensorVector()) all += each.nbytes();
  }
  return all;
}

std::optional<std::vector<c10::IValue>> constant_inputs(const Node& node) {
  std::vector<c10::IValue> all;
  for (const Value* input : node.inputs()) {
    if (input->node()->kind() != c10::prim::Constant) return std::nullopt;
    auto held = torch::jit::toIValue(input);
    if (!held) return std::nullopt;
    all.push_back(std::move(*held));
  }
  return all;
}

bool is_number(const Value& value) {
  const c10::TypeKind kind = value.type()->kind();
  return kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType || kind == c10::TypeKind::BoolType;
}

bool has_bounded_kind(const Node& node) {
  if (node.kind() == c10::prim::ListConstruct || has_kind(node, "aten::size")) return true;
  return node.kind().is_aten() && !node.outputs().empty() &&
         std::ranges::all_of(node.outputs(), [](const Value* value) { return is_tensor(value) || is_number(*value); });
}

bool is_foldable(const Node& node, const torch::jit::AliasDb& aliases) {
  return node.kind() != c10::prim::Constant && node.blocks().empty() && has_bounded_kind(node) &&
         !node.hasSideEffects() && !node.isNondeterministic() && !may_write(node) && !aliases.hasWriters(&node);
}

/// The results, or nothing where LibTorch refuses.
std::optional<std::vector<c10::IValue>> run(const Node& node, std::vector<c10::IValue> stack) {
  try {
    auto operation = node.getOperation();
    operation(stack);
    return stack;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

c10::IValue without_memory(const c10::IValue& value, const c10::Argument& argument) {
  const c10::IValue meta = c10::Device(c10::kMeta);
  if (value.isTensor() && value.toTensor().defined()) return value.toTensor().to(c10::kMeta);
  if (value.isTensorList()) {
    std::vector<at::Tensor> all;
    for (const at::Tensor& each : value.toTensorVector()) all.push_back(each.to(c10::kMeta));
    return all;
  }
  return argument.name() == "device" ? meta : value;
}

/// The bytes of the results; nothing where they are not known before.
std::optional<std::uint64_t> bytes_before(const Node& node, const std::vector<c10::IValue>& inputs) {
  if (std::ranges::none_of(node.outputs(), is_tensor)) return 0;
  const torch::jit::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr || schema->arguments().size() != inputs.size()) return std::nullopt;
  std::vector<c10::IValue> stack;
  for (std::size_t i = 0; i < inputs.size(); ++i) stack.push_back(without_memory(inputs[i], schema->arguments()[i]));
  const bool stays_without = std::ranges::any_of(stack, [](const c10::IValue& value) {
    return value.isDevice() || value.isTensorList() || (value.isTensor() && value.toTensor().defined());
  });
  if (!stays_without) return std::nullopt;
  const auto results = run(node, std::move(stack));
  if (!results) return std::nullopt;
  std::uint64_t all = 0;
  for (const c10::IValue& result : *results) {
    if (result.isTensor() && !result.toTensor().is_meta()) return std::nullopt;
    all += bytes_of(result);
  }
  return all;
}

/// The bytes that are free when the node is gone.
std::uint64_t bytes_replaced(const Node& node, const std::vector<c10::IValue>& inputs) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (node.input(i)->uses().size() == 1) all += bytes_of(inputs[i]);
  }
  return all;
}

bool insert_results(Node& node, const std::vector<c10::IValue>& results) {
  Graph& graph = *node.owningGraph();
  torch::jit::WithInsertPoint before(&node);
  std::vector<Value*> constants;
  for (const c10::IValue& result : results) {
    const auto made = torch::jit::tryInsertConstant(graph, result);
    if (!made) return false;
    constants.push_back(*made);
  }
  for (std::size_t i = 0; i < constants.size(); ++i) node.outputs()[i]->replaceAllUsesWith(constants[i]);
  return true;
}

bool fold(Node& node, std::uint64_t& bytes_left) {
  const auto inputs = constant_inputs(node);
  if (!inputs) return false;
  const auto made = bytes_before(node, *inputs);
  const std::uint64_t replaced = bytes_replaced(node, *inputs);
  if (!made || *made > replaced + bytes_left) return false;
  const auto results = run(node, *inputs);
  if (!results || results->size() != node.outputs().size() || !insert_results(node, *results)) return false;
  bytes_left -= *made > replaced ? *made - replaced : 0;
  return true;
}

}  // namespace

void fold_constants(const std::shared_ptr<Graph>& graph, rewrite_report& report) {
  const torch::jit::AliasDb aliases(graph);
  std::uint64_t bytes_left = most_bytes_more;
  for (Node* node = *graph->nodes().begin(); node != graph->return_node();) {
    Node* const next = node->next();
    if (is_foldable(*node, aliases) && fold(*node, bytes_left)) {
      node->destroy();
      ++report.folded_constants;
    }
    node = next;
  }
}

void remove_unread(Graph& graph, rewrite_report& report) {
  for (Node* node = graph.return_node()->prev(); node != graph.param_node();) {
    Node* const next = node->prev();
    const bool is_read = std::ranges::any_of(node->outputs(), [](const Value* value) { return value->hasUses(); });
    if (!is_read && !may_write(*node) && !node->hasSideEffects() && !node->isNondeterministic()) {
      report.removed_operators += node->kind() == c10::prim::Constant ? 0 : 1;
      node->destroy();
    }
    node = next;
  }
}

bool may_write_constants(const std::shared_ptr<Graph>& graph) {
  if (std::ranges::none_of(graph->nodes(), [](const Node* node) { return may_write(*node); })) return false;
  const torch::jit::AliasDb aliases(graph);
  return std::ranges::any_of(graph->nodes(), [&](const Node* node) {
    return node->kind() == c10::prim::Constant && is_tensor(node->output()) && aliases.hasWriters(node->output());
  });
}

}  // namespace troupe
