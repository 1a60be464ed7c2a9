#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/graph_layers.hpp"
#include "runtime/graph/graph_part.hpp"

namespace troupe {

/// A graph that is not changed any more, with its layers.
class layered_graph {
 public:
  layered_graph(operator_graph model, layer_unit unit);
  /// A graph that rewrites have made of plain.copy(). It has the same layers; those whose operators went to another one
  /// are empty.
  layered_graph(operator_graph rewritten, const layered_graph& plain);
  layered_graph(const layered_graph&) = delete;
  layered_graph& operator=(const layered_graph&) = delete;

  [[nodiscard]] const operator_graph& model() const noexcept { return model_; }
  [[nodiscard]] const live_values& live() const noexcept { return live_; }
  [[nodiscard]] const std::vector<graph_layer>& layers() const noexcept { return layers_; }
  /// Whether a stage can begin in front of the layer.
  [[nodiscard]] bool can_begin(std::size_t layer) const { return !objection(layer); }
  /// Why not; nothing if it can.
  [[nodiscard]] const std::optional<std::string>& objection(std::size_t layer) const {
    return live_.objection(layers_.at(layer).begin);
  }

  /// The layers [begin, end). Stages begin and end where they can.
  [[nodiscard]] graph_part part(std::size_t begin, std::size_t end, c10::Device device = c10::DeviceType::CPU) const;
  /// The values that cross the front of layer `at`; all inputs of the model at its begin, all outputs at its end.
  [[nodiscard]] std::vector<torch::jit::Value*> crossing(std::size_t at) const;
  /// A copy for rewrites.
  [[nodiscard]] operator_graph copy() const;

 private:
  [[nodiscard]] std::size_t place_of(std::size_t layer) const;

  operator_graph model_;
  live_values live_;
  std::vector<graph_layer> layers_;
};

using layered_graph_ptr = std::shared_ptr<const layered_graph>;

/// "layer 3 (features.0 Conv2d)": the layer that a step belongs to. The step is in such a graph or in a part().
std::string layer_of_step(torch::jit::Node& step);

}  // namespace troupe
