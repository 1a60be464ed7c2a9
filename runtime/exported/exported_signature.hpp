#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exported/exported_weights.hpp"
#include "runtime/exported/graph_writes.hpp"
#include "runtime/exported/size_ranges.hpp"
#include "runtime/exported/value_names.hpp"
#include "runtime/graph/operator_graph.hpp"
#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The arguments, weights and results of a program.
class exported_signature {
 public:
  /// `program` must outlive it.
  static expected<exported_signature> read(const json_part& program);

  /// Adds the inputs to the graph, and the weights as constants at its point of insertion, and names all of them.
  /// Returns what no operator may write. Errors: those of exported_weights::read(); E0217 for a custom object.
  expected<std::vector<kept_value>> add_inputs(operator_graph& made, value_names& names, exported_weights& weights);
  /// Registers the outputs. E0217 where the program writes a buffer or an argument, or has no tensor among its results.
  expected<void> add_outputs(operator_graph& made, const value_names& names);

 private:
  exported_signature(json_part tensors, json_part numbers, size_ranges ranges)
      : tensors_(std::move(tensors)), numbers_(std::move(numbers)), ranges_(std::move(ranges)) {}

  expected<kept_value> add_argument(operator_graph& made, value_names& names, const json_part& argument,
                                    const std::string& name);
  [[nodiscard]] expected<std::int64_t> example_of(const json_part& name) const;
  [[nodiscard]] expected<exported_tensor> meta_of(const json_part& name) const;

  /// By the names of values.
  json_part tensors_;
  json_part numbers_;
  size_ranges ranges_;
  std::vector<json_part> inputs_;
  std::vector<json_part> outputs_;
  /// Of the arguments and results, in order; nothing where the file does not say.
  std::optional<std::vector<std::string>> input_names_;
  std::optional<std::vector<std::string>> output_names_;
};

}  // namespace troupe
