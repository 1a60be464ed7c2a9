#include "runtime/training/weight_inputs.hpp"

#include <unordered_map>
#include <utility>

#include <torch/csrc/jit/ir/constants.h>

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

class constant_replacer {
 public:
  constant_replacer(Graph& graph, const std::function<std::optional<std::size_t>(const at::Tensor&)>& trained)
      : graph_(&graph), trained_(&trained) {}

  void replace_in(Block& block) {
    for (auto at = block.nodes().begin(); at != block.nodes().end();) {
      Node* const node = *at;
      ++at;
      for (Block* inner : node->blocks()) replace_in(*inner);
      if (node->kind() == c10::prim::Constant) replace(*node);
    }
  }

  std::vector<std::size_t> take() { return std::move(parameters_); }

 private:
  Value* input_of(std::size_t parameter, const c10::TypePtr& type) {
    const auto known = inputs_.find(parameter);
    if (known != inputs_.end()) return known->second;
    parameters_.push_back(parameter);
    return inputs_[parameter] = graph_->addInput()->setType(type);
  }

  void replace(Node& constant) {
    const auto value = torch::jit::toIValue(constant.output());
    if (!value) return;
    if (value->isTensor()) {
      const auto parameter = value->toTensor().defined() ? (*trained_)(value->toTensor()) : std::nullopt;
      if (!parameter) return;
      constant.output()->replaceAllUsesWith(input_of(*parameter, c10::TensorType::get()));
      constant.destroy();
    } else if (value->isTensorList()) {
      replace_list(constant, value->toTensorVector());
    }
  }

  /// As the weights of an LSTM: the list is made anew of inputs and constants.
  void replace_list(Node& constant, const std::vector<at::Tensor>& members) {
    bool has_trained = false;
    for (const at::Tensor& each : members) has_trained |= each.defined() && (*trained_)(each).has_value();
    if (!has_trained) return;
    const torch::jit::WithInsertPoint here(&constant);
    std::vector<Value*> made;
    for (const at::Tensor& each : members) {
      const auto parameter = (*trained_)(each);
      made.push_back(parameter ? input_of(*parameter, c10::TensorType::get()) : graph_->insertConstant(each));
    }
    Node* const list = graph_->insertNode(graph_->createList(c10::TensorType::get(), made));
    constant.output()->replaceAllUsesWith(list->output());
    constant.destroy();
  }

  Graph* graph_;
  const std::function<std::optional<std::size_t>(const at::Tensor&)>* trained_;
  std::unordered_map<std::size_t, Value*> inputs_;
  std::vector<std::size_t> parameters_;
};

}  // namespace

std::vector<std::size_t> weights_as_inputs(
    Graph& graph, const std::function<std::optional<std::size_t>(const at::Tensor& constant)>& trained) {
  constant_replacer replacer(graph, trained);
  replacer.replace_in(*graph.block());
  return replacer.take();
}

}  // namespace troupe
