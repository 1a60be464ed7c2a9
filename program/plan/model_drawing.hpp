#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/plan/crossing.hpp"

namespace troupe {

/// A layer as `troupe inspect` draws it.
struct drawn_layer {
  std::string name;
  std::string type;
  std::uint64_t parameters = 0;
  std::uint64_t trainable = 0;
  std::uint64_t weight_bytes = 0;
  /// Of the tensors that it takes from layers before it, and that it makes for those behind it; both empty without a
  /// sample.
  std::vector<std::vector<std::int64_t>> inputs = {};
  std::vector<std::vector<std::int64_t>> outputs = {};
  /// Why no stage can begin inside the layer, where one could otherwise; empty where nothing is in the way.
  std::string uncut = {};
  /// The place before it. The model's inputs cross that of the first layer.
  crossing before = {};
};

/// A model before it is cut.
struct drawn_model {
  std::string file;
  /// The name of what the sample came from; empty: no sample has passed the model.
  std::string data = {};
  std::vector<drawn_layer> layers;
  /// What the last layer makes of the sample.
  std::optional<std::uint64_t> output_bytes = std::nullopt;
  /// Layers for which an evaluation refuses the model, with the reason.
  std::vector<std::string> not_repeatable = {};
};

/// Whether one value and no more crosses before each layer, made by the layer before it, and the model may be cut
/// there.
bool is_chain(const drawn_model& model);

/// For people: a table of the layers, and below a layer what crosses behind it where that is more than one value, or
/// why there can be no cut. No line but one with a reason is longer than `width`.
std::string drawing_text(const drawn_model& model, std::size_t width);
/// One JSON object with a final newline (docs/cli.md).
std::string drawing_json(const drawn_model& model);

}  // namespace troupe
