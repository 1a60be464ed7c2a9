#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/model/graph_values.hpp"
#include <troupe/ids.hpp>

namespace troupe {

struct graph_body_options {
  /// The number in errors: "stage 2".
  stage_index stage = 0;
  /// Intra-op threads of the engine's thread, for ATen, MKL and OpenMP; at least 1.
  std::uint32_t threads = 1;
  /// Arguments of the model, for its first part; empty for others, which get what the part before them gives.
  std::vector<graph_input> arguments = {};
  /// Optional arguments that have their default values, for the first part: bind_inputs() got no data of these names.
  std::vector<std::string> absent = {};
  /// Names of the model's outputs, for its last part; empty for others.
  std::vector<std::string> outputs = {};
  /// An input of the part in the shape of a micro-batch. on_start() runs it a few times, as the first runs choose
  /// kernels and start threads; its values do not matter. Empty: no warm-up.
  graph_values warm_up = {};
};

/// A part of a model as the body of a stage, under c10::InferenceMode. A tensor that only passes through is handed on
/// as it is, also where it lies in a slot of the stage's inbound edge, which is then free when the receiver is done
/// with it. All tensors keep the strides that operators gave them, so that the next stage sees what the next operator
/// would have seen. Results have the same bits in every call, wherever the model was cut.
class graph_body final : public unary_body {
 public:
  graph_body(graph_part part, graph_body_options options);

  void on_start() override;
  /// E0602 names stage, layer and operator (the engine adds the micro-batch) and gives the first lines of LibTorch's
  /// message. E0209 for other inputs than the model takes.
  expected<payload_ptr> forward(const activation& input) override;

 private:
  [[nodiscard]] expected<graph_values> inputs_of(const activation& input) const;
  [[nodiscard]] tl::unexpected<error> failure(const graph_values& inputs, const std::exception& caught) const;

  graph_part part_;
  graph_code code_;
  graph_body_options options_;
};

}  // namespace troupe
