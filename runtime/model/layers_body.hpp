#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/flow/stage_body.hpp"
#include "runtime/model/layer_code.hpp"
#include <troupe/ids.hpp>
#include <troupe/model.hpp>
#include <troupe/options.hpp>

namespace troupe {

struct layers_body_options {
  /// The number in errors: "stage 2".
  stage_index stage = 0;
  /// Intra-op threads of the engine's thread, for ATen, MKL and OpenMP; at least 1.
  std::uint32_t threads = 1;
  optimize_mode optimize = optimize_mode::layer;
  /// An input of the stage in the shape of a micro-batch. on_start() runs it a few times, as the first runs of
  /// TorchScript specialise the code and start the threads; its values do not matter. Nothing means no warm-up.
  std::optional<at::Tensor> warm_up_input;
  /// Numbers of layers that run as they stand, ascending; with optimize_mode::stage all of a stage that has one of
  /// them.
  std::vector<std::size_t> plain = {};
  /// The layers as fuse_layers() makes them, where that was done; nothing: make() does it for optimize_mode::stage.
  std::optional<torch::jit::Module> fused = {};
};

/// The layers [first, last) of a chain as the body of a stage: one tensor in, one tensor out, under c10::InferenceMode.
/// The output shares no storage with the input and keeps the strides that the layers gave it, so that the next stage
/// sees what the next layer would have seen. Results have the same bits in every call; with optimize_mode::layer and
/// none they do not depend on first and last, with none they are those of the model as it stands in the file.
class layers_body final : public unary_body {
 public:
  /// `first <= last <= chain.layers.size()`; an empty range copies its input. Replicas that shall share the rewritten
  /// weights of optimize_mode::layer get a chain from optimize_layers() and optimize_mode::none. E0211: see
  /// optimize.hpp.
  static expected<std::unique_ptr<layers_body>> make(const layer_chain& chain, std::size_t first, std::size_t last,
                                                     layers_body_options options);

  void on_start() override;
  /// E0602 names stage and layer (the engine adds the micro-batch) and gives the first lines of LibTorch's message.
  expected<payload_ptr> forward(const activation& input) override;

 private:
  layers_body(std::vector<layer> layers, std::vector<layer_code> codes, layers_body_options options);

  [[nodiscard]] tl::unexpected<error> failure(const activation& input, std::size_t code, const std::exception& caught);
  [[nodiscard]] std::string guilty_layer(const at::Tensor& input, std::size_t code) const;

  /// As in the file: errors of fused code are traced back to a layer with them.
  std::vector<layer> layers_;
  /// One per layer, or one for all of them.
  std::vector<layer_code> codes_;
  layers_body_options options_;
};

}  // namespace troupe
