#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/rewrite/rewrite_graph.hpp"

namespace troupe::testing {

/// Makes a graph operator by operator, and computes each value for a sample as it goes, which tells its shape.
class graph_builder {
 public:
  torch::jit::Value* input(const at::Tensor& sample);
  torch::jit::Value* constant(const c10::IValue& value);
  /// The arguments that are not given have the operator's defaults.
  torch::jit::Value* add(const std::string& kind, const std::vector<torch::jit::NamedValue>& arguments,
                         const std::vector<torch::jit::NamedValue>& by_name = {});
  /// The same with a list of values as the first argument and an integer as the second.
  torch::jit::Value* add_list(const std::string& kind, const std::vector<torch::jit::Value*>& list,
                              std::int64_t number);
  void output(torch::jit::Value* value) { graph_->registerOutput(value); }

  [[nodiscard]] at::Tensor sample(const torch::jit::Value* value) const { return samples_.at(value).toTensor(); }
  [[nodiscard]] const std::shared_ptr<torch::jit::Graph>& graph() const noexcept { return graph_; }

 private:
  void compute(torch::jit::Node& node);

  std::shared_ptr<torch::jit::Graph> graph_ = std::make_shared<torch::jit::Graph>();
  std::unordered_map<const torch::jit::Value*, c10::IValue> samples_;
};

/// Batch normalisation in eval mode with random statistics, as aten::batch_norm.
torch::jit::Value* add_batch_norm(graph_builder& builder, torch::jit::Value* x, std::int64_t channels);
/// aten::conv2d with random weights and a bias; kernel 3 or 1, padded so that sizes stay.
torch::jit::Value* add_convolution(graph_builder& builder, torch::jit::Value* x, std::int64_t inputs,
                                   std::int64_t outputs, std::int64_t kernel = 3, std::int64_t groups = 1);

/// Computes the graph in the bare interpreter. Inputs are copied, with their strides.
std::vector<at::Tensor> outputs_of(const std::shared_ptr<torch::jit::Graph>& graph,
                                   const std::vector<at::Tensor>& inputs);

/// A rewritten copy of a graph.
struct rewritten {
  std::shared_ptr<torch::jit::Graph> graph;
  rewrite_report report;

  [[nodiscard]] std::size_t count(const std::string& kind) const;
};
rewritten rewrite(const std::shared_ptr<torch::jit::Graph>& graph, rewrite_target target = rewrite_target::cpu);

/// What tells the outputs of the copy from those of the graph (difference_of); empty if nothing does.
std::string difference(const std::shared_ptr<torch::jit::Graph>& graph, const rewritten& made,
                       const std::vector<at::Tensor>& inputs);

}  // namespace troupe::testing
