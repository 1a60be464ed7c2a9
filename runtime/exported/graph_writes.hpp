#pragma once

#include <string>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <troupe/error.hpp>

namespace troupe {

/// A value that no operator may write, with what it is for people: "its buffer steps".
struct kept_value {
  torch::jit::Value* value = nullptr;
  std::string what;
};

/// What to do about such a write.
inline constexpr auto write_fix =
    "export it in evaluation mode (model.eval()), and compute a new tensor in place of changing this one";

/// E0217, which names the operator, where one writes into the memory of one of these: such a model keeps a state, or
/// changes what others still read. Follows views by the schemas of the operators; LibTorch's AliasDb takes all inputs
/// of a graph for one memory as soon as a tensor is in a list, and would refuse models that write no input.
expected<void> check_writes(torch::jit::Graph& graph, const std::vector<kept_value>& kept, const std::string& where);

}  // namespace troupe
