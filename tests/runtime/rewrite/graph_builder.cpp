#include "tests/runtime/rewrite/graph_builder.hpp"

#include <cmath>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "runtime/model/output_difference.hpp"

namespace troupe::testing {

using torch::jit::Node;
using torch::jit::Value;

namespace {

at::Tensor copy_with_strides(const at::Tensor& one) {
  at::Tensor made = at::empty_strided(one.sizes(), one.strides(), one.options());
  return made.copy_(one);
}

std::size_t count_in(const torch::jit::Graph& graph, const std::string& kind) {
  std::size_t found = 0;
  for (const Node* node : graph.nodes()) found += node->kind().toQualString() == kind ? 1 : 0;
  return found;
}

}  // namespace

Value* graph_builder::input(const at::Tensor& sample) {
  Value* made = graph_->addInput();
  samples_[made] = sample;
  return made;
}

Value* graph_builder::constant(const c10::IValue& value) {
  Value* made = graph_->insertConstant(value);
  samples_[made] = value;
  return made;
}

Value* graph_builder::add(const std::string& kind, const std::vector<torch::jit::NamedValue>& arguments,
                          const std::vector<torch::jit::NamedValue>& by_name) {
  const Node* last = graph_->return_node()->prev();
  Value* made = graph_->insert(c10::Symbol::fromQualString(kind), arguments, by_name);
  for (Node* node = last->next(); node != graph_->return_node(); node = node->next()) compute(*node);
  return made;
}

Value* graph_builder::add_list(const std::string& kind, const std::vector<Value*>& list, std::int64_t number) {
  Node* made = graph_->insertNode(graph_->createList(c10::TensorType::get(), list));
  compute(*made);
  return add(kind, {made->output(), number});
}

void graph_builder::compute(Node& node) {
  if (node.kind() == c10::prim::Constant) {
    samples_[node.output()] = *torch::jit::toIValue(node.output());
    return;
  }
  torch::jit::Stack stack;
  for (const Value* value : node.inputs()) stack.push_back(samples_.at(value));
  if (node.kind() == c10::prim::ListConstruct) {
    c10::List<at::Tensor> list;
    for (const c10::IValue& each : stack) list.push_back(each.toTensor());
    samples_[node.output()] = list;
    return;
  }
  auto operation = node.getOperation();
  operation(stack);
  for (std::size_t i = 0; i < stack.size(); ++i) samples_[node.outputs()[i]] = stack[i];
}

Value* add_batch_norm(graph_builder& builder, Value* x, std::int64_t channels) {
  return builder.add(
      "aten::batch_norm",
      {x, builder.constant(at::rand({channels}) + 0.5), builder.constant(at::randn({channels})),
       builder.constant(at::randn({channels})), builder.constant(at::rand({channels}) + 0.5), false, 0.1, 1e-5, true});
}

Value* add_convolution(graph_builder& builder, Value* x, std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                       std::int64_t groups) {
  const std::int64_t fan = inputs / groups * kernel * kernel;
  const at::Tensor weight = at::randn({outputs, inputs / groups, kernel, kernel}) / std::sqrt(static_cast<double>(fan));
  const std::vector<std::int64_t> padding(2, kernel / 2);
  return builder.add("aten::conv2d", {x, builder.constant(weight), builder.constant(at::randn({outputs})),
                                      builder.constant(std::vector<std::int64_t>{1, 1}), builder.constant(padding),
                                      builder.constant(std::vector<std::int64_t>{1, 1}), groups});
}

std::vector<at::Tensor> outputs_of(const std::shared_ptr<torch::jit::Graph>& graph,
                                   const std::vector<at::Tensor>& inputs) {
  c10::InferenceMode no_gradients;
  const torch::jit::Code code(graph, "forward");
  torch::jit::Stack stack;
  for (const at::Tensor& each : inputs) stack.emplace_back(copy_with_strides(each));
  torch::jit::InterpreterState(code).run(stack);
  std::vector<at::Tensor> outputs;
  for (const c10::IValue& each : stack) outputs.push_back(each.toTensor());
  return outputs;
}

std::size_t rewritten::count(const std::string& kind) const {
  return count_in(*graph, kind);
}

rewritten rewrite(const std::shared_ptr<torch::jit::Graph>& graph, rewrite_target target) {
  operator_graph model;
  model.graph = graph->copy();
  const rewrite_report report = rewrite_graph(model, target);
  return {model.graph, report};
}

std::string difference(const std::shared_ptr<torch::jit::Graph>& graph, const rewritten& made,
                       const std::vector<at::Tensor>& inputs) {
  const auto plain = outputs_of(graph, inputs);
  const auto optimized = outputs_of(made.graph, inputs);
  if (plain.size() != optimized.size()) return "another number of outputs";
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (const auto found = difference_of(optimized[i], plain[i])) return "output " + std::to_string(i) + ": " + *found;
  }
  return "";
}

}  // namespace troupe::testing
