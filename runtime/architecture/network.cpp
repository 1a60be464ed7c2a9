#include "runtime/architecture/network.hpp"

#include <algorithm>

#include <torch/csrc/jit/ir/constants.h>

#include "runtime/graph/module_scope.hpp"

namespace troupe {

network::network(std::string file, const std::string& type, weight_reader& weights)
    : made_{.file = std::move(file), .graph = std::make_shared<torch::jit::Graph>()}, weights_(weights) {
  scope_ = scope_inside(made_.graph->current_scope(), {"", type});
  made_.graph->set_current_scope(scope_);
}

tensor_value network::input(std::string name, std::optional<c10::IValue> otherwise) {
  tensor_value value = made_.graph->addInput();
  value->setType(otherwise ? c10::TypePtr(c10::OptionalType::ofTensor()) : c10::TypePtr(c10::TensorType::get()));
  made_.inputs.push_back({.name = std::move(name), .otherwise = std::move(otherwise)});
  return value;
}

tensor_value network::ids_input(std::string name, const id_limits& limits, std::optional<c10::IValue> otherwise) {
  tensor_value const value = input(std::move(name), std::move(otherwise));
  made_.inputs.back().ids = limits;
  return value;
}

void network::output(std::string name, tensor_value value) {
  made_.graph->registerOutput(value);
  made_.outputs.push_back(std::move(name));
}

tensor_value network::find_input(const std::string& name) const {
  const auto found = std::ranges::find(made_.inputs, name, &graph_input::name);
  return found == made_.inputs.end() ? nullptr : made_.graph->inputs()[found - made_.inputs.begin()];
}

tensor_value network::find_output(const std::string& name) const {
  const auto found = std::ranges::find(made_.outputs, name);
  return found == made_.outputs.end() ? nullptr : made_.graph->outputs()[found - made_.outputs.begin()];
}

network::inside::inside(network& net, const std::string& name, const std::string& type)
    : net_(net), path_(net.path_), scope_(net.scope_) {
  net.path_ = net.whole(name);
  net.scope_ = scope_inside(scope_, {net.path_, type});
  net.made_.graph->set_current_scope(net.scope_);
}

network::inside::~inside() {
  net_.path_ = std::move(path_);
  net_.scope_ = std::move(scope_);
  net_.made_.graph->set_current_scope(net_.scope_);
}

tensor_value network::parameter(const std::string& name, at::IntArrayRef sizes) {
  return weight(whole(name), sizes, weight_kind::trainable);
}

tensor_value network::buffer(const std::string& name, at::IntArrayRef sizes) {
  return weight(whole(name), sizes, weight_kind::buffer);
}

tensor_value network::shared_parameter(const std::string& name, const std::string& whole_name, at::IntArrayRef sizes) {
  tensor_value const shared = weight(whole_name, sizes, weight_kind::trainable);
  if (known_.emplace(whole(name), shared).second)
    made_.weights.add(whole(name), weights_.take(whole_name, sizes), weight_kind::trainable);
  return shared;
}

tensor_value network::weight(const std::string& whole_name, at::IntArrayRef sizes, weight_kind kind) {
  const at::Tensor tensor = weights_.take(whole_name, sizes);
  const auto [known, is_new] = known_.try_emplace(whole_name, nullptr);
  if (is_new) {
    made_.weights.add(whole_name, tensor, kind);
    known->second = made_.graph->insertConstant(tensor);
  }
  return known->second;
}

tensor_value network::constant(const c10::IValue& value) {
  return made_.graph->insertConstant(value);
}

tensor_value network::call(const std::string& name, const std::vector<torch::jit::NamedValue>& arguments,
                           const std::vector<torch::jit::NamedValue>& by_name) {
  return made_.graph->insert(c10::Symbol::fromQualString("aten::" + name), arguments, by_name,
                             torch::jit::SourceRange());
}

tensor_value network::list(const std::vector<tensor_value>& values) {
  return made_.graph->insertNode(made_.graph->createList(values.at(0)->type(), values))->output();
}

tensor_value network::if_given(tensor_value input, const std::function<tensor_value(tensor_value)>& given,
                               const std::function<tensor_value()>& absent) {
  torch::jit::Graph& graph = *made_.graph;
  tensor_value const is_given = call("__isnot__", {input, none()});
  torch::jit::Node* const choice = graph.insertNode(graph.create(c10::prim::If, {is_given}, 1));
  {
    const torch::jit::WithInsertPoint here(choice->addBlock());
    choice->blocks()[0]->registerOutput(given(call("_unwrap_optional", {input})));
  }
  const torch::jit::WithInsertPoint here(choice->addBlock());
  choice->blocks()[1]->registerOutput(absent());
  choice->output()->setType(c10::TensorType::get());
  return choice->output();
}

operator_graph network::finish() {
  made_.weights.leave_out(weights_.left_out());
  made_.graph->lint();
  return std::move(made_);
}

}  // namespace troupe
