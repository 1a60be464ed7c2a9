#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include "runtime/graph/graph_weights.hpp"

namespace troupe {

/// Nodes of one graph, with all calls written out and those inside of blocks (E0214).
inline constexpr std::uint64_t graph_nodes_max = 200'000;

/// Whether a value of this type can pass between two stages, or leave the model: a tensor, or a number, a truth value
/// or a list of integers, which travel as small tensors.
[[nodiscard]] bool can_pass(const c10::TypePtr& type);

/// How large one dimension of an input may be, both ends included.
struct size_range {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  bool operator==(const size_range&) const = default;
};

/// What an input [N, S] of ids may have. Others make an embedding fail, with a message that names neither.
struct id_limits {
  std::int64_t count = 0;  ///< ids are from 0 to count - 1
  /// Ids of a sequence that the model has positions for; nothing where there is no limit.
  std::optional<std::int64_t> longest = std::nullopt;
  /// The id that takes no position, where there is one.
  std::optional<std::int64_t> padding = std::nullopt;
};

/// One argument of a model.
struct graph_input {
  std::string name;  ///< of the argument in Python: "input_ids"
  /// What it is where no data of this name is given; nothing for an argument that must be given.
  std::optional<c10::IValue> otherwise = std::nullopt;
  /// One per dimension of the tensor; nothing where the file does not say. With other sizes the graph may give wrong
  /// values without an error: torch.export keeps the branch that was right for these, and sizes as numbers.
  std::optional<std::vector<size_range>> sizes = std::nullopt;
  /// Architectures that are built in know them; nothing for other models.
  std::optional<id_limits> ids = std::nullopt;
};

/// The number of samples, where the model was made for this one alone, as torch.export does without dynamic shapes.
std::optional<std::int64_t> fixed_batch(const graph_input& input);

/// A model as one straight line of operators, whatever file it comes from. What front ends (TorchScript, .pt2, layers
/// in code) make, rewrites change, and the partition cuts.
///
/// The graph is in SSA form. Its top-level nodes but prim::Constant, in order, are the *steps*: between any two of them
/// the model may be cut, where live_values::objection() has none. There are no calls of modules or functions and no
/// attributes of modules (prim::CallMethod, prim::GetAttr): weights are constants, which share storage where the
/// model's weights do. A control flow that depends on values stays inside of one step (prim::If, prim::Loop). Tuples
/// and dicts are lowered: each input and output is one tensor, but for inputs of other types that have a value of their
/// own. Each step has a scope, which names the module that it is part of (module_scope.hpp), and a source range, which
/// is in the user's Python where the file has it.
struct operator_graph {
  /// The file, or what stands for it in errors.
  std::string file;
  std::shared_ptr<torch::jit::Graph> graph;
  /// One per input of the graph.
  std::vector<graph_input> inputs = {};
  /// One per output of the graph: a single tensor has the empty name, members of a tuple have their positions, members
  /// of a dict or of a dataclass their names.
  std::vector<std::string> outputs = {};
  /// Parameters and buffers: constants of the graph, but for those that no operator reads.
  graph_weights weights = {};
  /// The first input of a graph that writes attributes of its own module, as code with a state does. It cannot be cut.
  std::optional<c10::IValue> state = std::nullopt;
};

/// The top-level nodes of the graph but constants, in order.
std::vector<torch::jit::Node*> steps_of(torch::jit::Graph& graph);

/// The tensors among the inputs of a node that are constants, also those in lists, and those of the nodes in its
/// blocks.
void each_constant(const torch::jit::Node& node, const std::function<void(const at::Tensor&)>& see);

/// " (model.py:12)", the place in the user's Python source where it is known; empty where none is.
std::string place_in_source(const torch::jit::Node& node);

}  // namespace troupe
