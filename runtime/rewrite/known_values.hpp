#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <torch/csrc/jit/ir/ir.h>

namespace troupe {

/// Ranks and types that the values of a graph have for every input on which it runs. note() is called for the nodes in
/// order.
class known_values {
 public:
  void note(const torch::jit::Node& node);

  /// Number of dimensions.
  [[nodiscard]] std::optional<std::int64_t> rank(const torch::jit::Value* value) const;
  /// A tensor of float32 on any device.
  [[nodiscard]] bool is_float32(const torch::jit::Value* value) const;

 private:
  void note_rank(const torch::jit::Node& node);
  [[nodiscard]] bool gives_float32(const torch::jit::Node& node) const;

  std::unordered_map<const torch::jit::Value*, std::int64_t> ranks_;
  std::unordered_set<const torch::jit::Value*> float32_;
};

}  // namespace troupe
