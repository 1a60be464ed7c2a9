#pragma once

#include <map>
#include <string>

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The values of one graph of the file by the names that they have there. The graphs inside of control flow see their
/// own inputs alone.
class value_names {
 public:
  /// `name` is a text in the file. E0210 for one that there is already.
  expected<void> add(const json_part& name, torch::jit::Value* value);
  /// The same, and people see the value under this name.
  expected<void> give(const json_part& name, torch::jit::Value* value);
  /// E0210 for a name that no value has (yet).
  [[nodiscard]] expected<torch::jit::Value*> find(const json_part& name) const;

 private:
  std::map<std::string, torch::jit::Value*> values_;
};

/// Gives a value a name for people. LibTorch refuses a number, which is its own name for a value without one.
void name_value(torch::jit::Value& value, const std::string& name);

/// The name in an argument that is a value: {"as_tensor": {"name": "x"}}, {"as_sym_int": {"as_name": "s"}}.
expected<json_part> name_in(const json_part& argument);

/// Names the value that a node gives as one of its outputs in the file: a tensor, a list of tensors or a number. E0210
/// where the value is of another type.
expected<void> name_output(torch::jit::Graph& graph, value_names& names, const json_part& output,
                           torch::jit::Value* value);

}  // namespace troupe
