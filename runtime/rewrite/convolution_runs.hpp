#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include "runtime/rewrite/packed_convolution.hpp"

namespace troupe {

/// A 2-dimensional convolution as packed_convolution.hpp takes it, its weights not in channels-last order; nothing for
/// other nodes.
std::optional<convolution_form> read_convolution(const torch::jit::Node& node);

/// The runs of convolutions of a graph (channels_last.hpp), kept up to date while their nodes are replaced.
class convolution_runs {
 public:
  /// Those with two or more convolutions.
  explicit convolution_runs(torch::jit::Graph& graph);

  [[nodiscard]] bool is_empty() const noexcept { return entry_of_.empty(); }
  /// The entry of the run that the value is of; null for others.
  [[nodiscard]] torch::jit::Value* entry(const torch::jit::Value* value) const;
  [[nodiscard]] bool has(const torch::jit::Node& node) const { return members_.contains(&node); }
  /// In the order of the graph.
  [[nodiscard]] std::vector<torch::jit::Node*> members() const;
  /// The uses of a value of a run that see its order, by nodes that are of no run.
  [[nodiscard]] std::vector<torch::jit::Use> strangers(const torch::jit::Value& value) const;
  /// Whether an operator that is left may write a value of a run: then nothing is known of who sees that.
  [[nodiscard]] bool may_be_written(const std::shared_ptr<torch::jit::Graph>& graph) const;

  void add(const torch::jit::Node& node, torch::jit::Value* entry);
  void remove(const torch::jit::Node& node);

 private:
  void find(bool with_slices);
  torch::jit::Value* run_of(torch::jit::Node& node, bool with_slices);
  torch::jit::Value* run_of_list(const torch::jit::Value& list);
  void forget_short_runs();
  [[nodiscard]] bool has_strangers_behind_slices() const;

  torch::jit::Graph& graph_;
  /// By value of a run. All of its values name the same entry.
  std::unordered_map<const torch::jit::Value*, torch::jit::Value*> entry_of_;
  /// What reads and makes values of runs in their own order.
  std::unordered_set<const torch::jit::Node*> members_;
};

}  // namespace troupe
