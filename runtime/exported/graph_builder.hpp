#pragma once

#include <string>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/exported/module_calls.hpp"
#include "runtime/exported/value_names.hpp"
#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Makes the operators of a program at a graph's point of insertion.
class graph_builder {
 public:
  /// `root` is the class of the model.
  graph_builder(torch::jit::Graph& graph, const std::string& root)
      : graph_(graph), calls_(graph.current_scope(), root) {}

  /// The nodes of a graph of the file, whose inputs have been named. Errors name the node and its line: those of
  /// add_operator(), E0214 beyond graph_nodes_max, and E0217 for a target that is no operator.
  expected<void> add_nodes(const json_part& graph, value_names& names);

 private:
  using values = std::vector<torch::jit::Value*>;

  expected<void> add_node(const json_part& node, value_names& names);
  expected<void> add_target(const std::string& target, const json_part& node, value_names& names);
  expected<void> add_higher_order(const std::string& name, const json_part& node, value_names& names);
  expected<void> add_cond(const json_part& node, value_names& names);
  expected<void> add_while_loop(const json_part& node, value_names& names);
  /// A part of the model under no_grad or under autocast that is off.
  expected<void> add_wrapped(const json_part& node, value_names& names);
  /// The values of the outputs of a graph of the file, made at the point of insertion.
  expected<values> inlined(const json_part& graph, const values& operands);
  /// As inlined(), inside of `block`, as its outputs.
  expected<void> fill_block(torch::jit::Block* block, const json_part& graph, const values& operands);
  expected<values> operands_of(const json_part& list, const value_names& names);
  expected<void> name_results(const json_part& node, const values& results, value_names& names);
  /// A truth value of a tensor with one element.
  expected<torch::jit::Value*> truth_of(const json_part& node, torch::jit::Value* value);

  torch::jit::Graph& graph_;
  module_calls calls_;
  python_lines lines_;
  /// Inside of how many blocks. Operators there belong to the call around them.
  std::size_t blocks_ = 0;
  std::uint64_t nodes_ = 0;
  /// In the condition of a loop, which is made twice. One inside of another would double with each.
  bool is_condition_ = false;
};

}  // namespace troupe
