#include "runtime/rewrite/linear_form.hpp"

#include <optional>

#include <torch/csrc/jit/ir/constants.h>

#include "runtime/rewrite/node_reading.hpp"
#include "runtime/rewrite/packed_linear.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

struct product {
  Value* x = nullptr;
  at::Tensor weight;  ///< [N, K]
  at::Tensor bias;    ///< [N], or undefined
};

std::optional<product> read_product(Node& node) {
  product found;
  const Value* weight = nullptr;
  if (has_kind(node, "aten::addmm") && node.inputs().size() == 5) {
    if (constant_number(node.input(3)) != 1 || constant_number(node.input(4)) != 1) return std::nullopt;
    const auto bias = constant_tensor(node.input(0));
    if (!bias) return std::nullopt;
    found.bias = *bias;
    found.x = node.input(1);
    weight = node.input(2);
  } else if ((has_kind(node, "aten::mm") || has_kind(node, "aten::matmul")) && node.inputs().size() == 2) {
    found.x = node.input(0);
    weight = node.input(1);
  } else {
    return std::nullopt;
  }
  const auto matrix = constant_tensor(weight);
  if (!matrix || matrix->dim() != 2) return std::nullopt;
  found.weight = matrix->t();
  return can_pack_linear(found.weight, found.bias) ? std::optional(found) : std::nullopt;
}

Node* linear_node(Graph& graph, const product& from) {
  Value* const weight = graph.insertConstant(from.weight);
  Value* const bias = graph.insertConstant(from.bias.defined() ? c10::IValue(from.bias) : c10::IValue());
  return graph.insertNode(graph.create(c10::aten::linear, {from.x, weight, bias}));
}

std::optional<product> read_linear(Node& node) {
  if (!has_kind(node, "aten::linear")) return std::nullopt;
  const auto weight = constant_tensor(node.input(1));
  const auto bias = constant_tensor(node.input(2));
  if (!weight || (!bias && !is_none(node.input(2)))) return std::nullopt;
  product found{node.input(0), *weight, bias.value_or(at::Tensor())};
  return can_pack_linear(found.weight, found.bias) ? std::optional(found) : std::nullopt;
}

void pack(Node& node, const product& layer, rewrite_report& report) {
  Graph& graph = *node.owningGraph();
  Node* const user = only_user(node.output());
  const bool has_relu = user != nullptr && has_kind(*user, "aten::relu") && can_move_down(node, *user);
  Node& last = has_relu ? *user : node;
  torch::jit::WithInsertPoint before(&last);
  Value* const weights = graph.insertConstant(pack_linear(layer.weight, layer.bias));
  Node* made =
      graph.create(c10::Symbol::fromQualString("troupe::linear"), {layer.x, weights, graph.insertConstant(has_relu)});
  graph.insertNode(made->copyMetadata(&node));
  made->output()->setType(c10::TensorType::get());
  last.output()->replaceAllUsesWith(made->output());
  if (has_relu) last.destroy();
  node.destroy();
  ++report.packed_linears;
  report.joined_relus += has_relu ? 1 : 0;
}

}  // namespace

void use_linear_form(Graph& graph) {
  for (Node* node = *graph.nodes().begin(); node != graph.return_node();) {
    Node* const next = node->next();
    if (const auto found = read_product(*node)) {
      torch::jit::WithInsertPoint before(node);
      Node* made = linear_node(graph, *found)->copyMetadata(node);
      made->output()->setType(c10::TensorType::get());
      node->output()->replaceAllUsesWith(made->output());
      node->destroy();
    }
    node = next;
  }
}

void pack_linears(Graph& graph, rewrite_report& report) {
  for (Node* node = *graph.nodes().begin(); node != graph.return_node();) {
    const auto found = read_linear(*node);
    Node* const before = node->prev();
    if (!found) {
      node = node->next();
      continue;
    }
    pack(*node, *found, report);
    node = before->next();
  }
}

}  // namespace troupe
