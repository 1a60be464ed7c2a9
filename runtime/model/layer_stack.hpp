#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include <troupe/layer_spec.hpp>

namespace troupe {

/// Built layers as the body of a stage: one tensor in, one out, under c10::InferenceMode. The input is copied first, as
/// a layer may write it (ReLU in place). E0602 names stage and layer.
class layer_stack final : public unary_body {
 public:
  struct named_layer {
    std::string name;
    built_layer layer;
  };

  layer_stack(std::vector<named_layer> layers, std::string stage, std::uint32_t threads)
      : layers_(std::move(layers)), stage_(std::move(stage)), threads_(threads) {}

  void on_start() override;
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override;

 private:
  std::vector<named_layer> layers_;
  std::string stage_;
  std::uint32_t threads_;
};

}  // namespace troupe
