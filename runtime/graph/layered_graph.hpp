#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/graph_layers.hpp"

namespace troupe {

/// A graph that is not changed any more, with its layers.
class layered_graph {
 public:
  layered_graph(operator_graph model, layer_unit unit);
  /// A graph that rewrites have made of `plain`'s, marked by mark_layers() before. It has the same layers; those whose
  /// operators went to another one are empty.
  layered_graph(operator_graph rewritten, const layered_graph& plain);
  layered_graph(const layered_graph&) = delete;
  layered_graph& operator=(const layered_graph&) = delete;

  [[nodiscard]] const operator_graph& model() const noexcept { return model_; }
  [[nodiscard]] const live_values& live() const noexcept { return live_; }
  [[nodiscard]] const std::vector<graph_layer>& layers() const noexcept { return layers_; }
  /// Whether a stage can begin in front of the layer.
  [[nodiscard]] bool can_begin(std::size_t layer) const { return !live_.objection(layers_.at(layer).begin); }

  /// The layers [begin, end) as code.
  [[nodiscard]] graph_code code_of(std::size_t begin, std::size_t end, c10::Device device = c10::DeviceType::CPU) const;
  /// The values that cross the front of layer `at`, or the end of the model.
  [[nodiscard]] std::span<torch::jit::Value* const> crossing(std::size_t at) const;

 private:
  [[nodiscard]] std::size_t place_of(std::size_t layer) const;

  operator_graph model_;
  live_values live_;
  std::vector<graph_layer> layers_;
};

using layered_graph_ptr = std::shared_ptr<const layered_graph>;

/// A copy of the graph for rewrites, whose steps know by their scope which layer they belong to.
operator_graph mark_layers(const layered_graph& plain);

}  // namespace troupe
