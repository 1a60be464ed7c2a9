#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

namespace torch::jit {
class AliasDb;
}

namespace troupe {

/// Whether an operator may give back an input, one of its views or a list of views, though its schema tells of new
/// tensors.
[[nodiscard]] bool may_give_back(const torch::jit::Node& node);

/// Which steps of a graph write to memory that others may use, by LibTorch's alias analysis: when in doubt, they do.
/// Operators that may_give_back() their input are looked through. Has a copy of the graph.
class written_memory {
 public:
  explicit written_memory(torch::jit::Graph& graph);
  ~written_memory();
  written_memory(const written_memory&) = delete;
  written_memory& operator=(const written_memory&) = delete;

  /// Whether step number `step`, or a block in it, writes to anything.
  [[nodiscard]] bool writes(std::size_t step) const { return writers_.at(step); }
  /// Whether the step may write to the memory of a value of the graph that was given.
  [[nodiscard]] bool may_be_written(const torch::jit::Value* value, std::size_t step) const;
  /// Whether any step may.
  [[nodiscard]] bool may_be_written(const torch::jit::Value* value) const;

 private:
  std::shared_ptr<torch::jit::Graph> copy_;
  std::vector<torch::jit::Node*> steps_;
  std::vector<bool> writers_;
  /// The value of the copy that has the memory of a value.
  std::unordered_map<const torch::jit::Value*, torch::jit::Value*> twins_;
  std::unique_ptr<torch::jit::AliasDb> aliases_;
};

}  // namespace troupe
