#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/operator_graph.hpp"

namespace troupe {

/// Which values a cut of a graph separates from their use. Place p is in front of step p; place 0 is the begin of the
/// graph, and the place behind the last step is its end. The graph must not change while this exists.
class live_values {
 public:
  explicit live_values(const operator_graph& model);

  [[nodiscard]] std::size_t steps() const noexcept { return steps_.size(); }
  /// What crosses the place, in the order in which it was made: inputs of the graph and outputs of earlier steps that a
  /// later step or the end of the graph uses. What is_made_again() is none of them: each side makes its own.
  [[nodiscard]] std::vector<torch::jit::Value*> at(std::size_t place) const;
  /// How many of them are tensors.
  [[nodiscard]] std::size_t tensors_at(std::size_t place) const;
  /// Why no stage can begin at the place, for people; nothing if one can. Places 0 and steps() are always good.
  [[nodiscard]] const std::optional<std::string>& objection(std::size_t place) const { return objections_.at(place); }

 private:
  void find_ranges(torch::jit::Graph& graph);
  void object_to_types();
  void object_to_state(const operator_graph& model);
  void object_to_shared_writes(torch::jit::Graph& graph);

  /// A value, and the places [made, last) that it crosses.
  struct range {
    torch::jit::Value* value = nullptr;
    std::size_t made = 0;
    std::size_t last = 0;
  };

  std::vector<torch::jit::Node*> steps_;
  /// In the order in which they are made. Lists by place would take the square of the steps.
  std::vector<range> ranges_;
  /// By place.
  std::vector<std::optional<std::string>> objections_;
};

/// A list or tuple whose members are at hand, and which nothing changes after it is made; or what stands for a value
/// that an early return leaves out.
[[nodiscard]] bool is_made_again(const torch::jit::Value& value);

}  // namespace troupe
