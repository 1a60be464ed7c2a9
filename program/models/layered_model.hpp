#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "runtime/flow/stage_body.hpp"
#include "runtime/partition/partition_layers.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/layer_spec.hpp>
#include <troupe/model.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// How the layers of one stage run.
struct part_options {
  /// Its number in errors.
  stage_index stage = 0;
  std::uint32_t threads = 1;
  optimize_mode optimize = optimize_mode::none;
  /// Undefined: the stage is not warmed up.
  at::Tensor warm_up = {};
  c10::Device device = c10::DeviceType::CPU;
  /// Layers that run as they stand (layer_choice::plain), for those optimized here.
  std::vector<std::size_t> plain = {};
};

/// A fault of a layer.
struct layer_finding {
  std::size_t layer = 0;
  std::string name;  ///< "layer 3 (features.0 Conv2d)"
  std::string text;
};

/// What came out when layers ran on a sample before the run.
struct layer_trial {
  /// Two runs on the same input gave other bits.
  std::vector<layer_finding> unrepeatable;
  /// The optimized layer is too far from the plain one (output_difference.hpp), or fails where that does not.
  std::vector<layer_finding> differing;
};

/// A model as layers in order, which can be cut between any two of them. Replicas share its weights.
class layered_model {
 public:
  layered_model() = default;
  layered_model(const layered_model&) = delete;
  layered_model& operator=(const layered_model&) = delete;
  virtual ~layered_model() = default;

  /// The file, or what stands for it in errors.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  /// Types and trainable parameters.
  [[nodiscard]] virtual std::vector<layer_weight> weights() const = 0;
  /// Weights and buffers, in the order of the layers.
  [[nodiscard]] virtual std::vector<at::Tensor> tensors() const = 0;

  /// Sends a sample through all layers on the calling thread. An error names the layer that does not accept it.
  [[nodiscard]] virtual expected<void> probe(const at::Tensor& micro_batch, std::uint32_t threads,
                                             const std::stop_token& stop) const = 0;
  /// Layers whose code gives other results for an equal input (find_random()).
  [[nodiscard]] virtual std::vector<layer_finding> random_code() const = 0;
  /// Whether optimize() has an effect.
  [[nodiscard]] virtual bool is_optimizable() const noexcept = 0;
  /// Runs each layer twice on what the layers before it make of the sample, which the model accepts; with `optimizes`
  /// also its optimized form, from which the next layer gets its input unless it differs. Layers of `plain`, which
  /// ascends, are not optimized. A layer that fails ends the trial: the run reports that. One that LibTorch refuses to
  /// freeze differs. E0607.
  [[nodiscard]] virtual expected<layer_trial> try_layers(const at::Tensor& sample, bool optimizes,
                                                         std::span<const std::size_t> plain,
                                                         const std::stop_token& stop) = 0;
  /// How the layers [begin, end), fused as a whole, differ from themselves as they stand on an input of theirs; nothing
  /// if they may take their place. That LibTorch refuses to fuse them is a difference.
  [[nodiscard]] virtual expected<std::optional<std::string>> compare_stage(std::size_t begin, std::size_t end,
                                                                           const at::Tensor& input) = 0;
  /// Seconds per layer for this micro-batch, within a budget (profile_layers); but for those of `plain` of the
  /// optimized ones, one by one also for optimize_mode::stage, where nothing else can be said before the cuts are
  /// known.
  [[nodiscard]] virtual expected<std::vector<double>> time_layers(const at::Tensor& micro_batch, optimize_mode optimize,
                                                                  std::span<const std::size_t> plain,
                                                                  std::uint32_t threads, const std::stop_token& stop,
                                                                  std::chrono::milliseconds budget) = 0;
  /// What each stage gets when the micro-batch goes through the model, cut at `boundaries`.
  [[nodiscard]] virtual expected<std::vector<at::Tensor>> inputs_of(std::span<const std::size_t> boundaries,
                                                                    const at::Tensor& micro_batch,
                                                                    const std::stop_token& stop) const = 0;

  /// Freezes and fuses all layers one by one and keeps them beside the plain ones, so that optimize() need not. Those
  /// that LibTorch refuses stay as they are. E0607.
  [[nodiscard]] virtual expected<void> prepare(const std::stop_token& stop) = 0;
  /// The layers [begin, end) run optimized from now on, but for those of `plain`, which ascends. Once: frees what
  /// prepare() made. E0211.
  [[nodiscard]] virtual expected<void> optimize(std::size_t begin, std::size_t end, std::span<const std::size_t> plain,
                                                const std::stop_token& stop) = 0;
  /// The body of the layers [begin, end), which optimize() has seen for optimize_mode::layer on the CPU. On a device
  /// they are moved first and optimized there. E0504 for layers that cannot be moved, or were to another device.
  [[nodiscard]] virtual expected<std::shared_ptr<stage_body>> make_body(std::size_t begin, std::size_t end,
                                                                        const part_options& options) const = 0;
};

using layered_model_ptr = std::shared_ptr<layered_model>;

/// A model of TorchScript.
[[nodiscard]] layered_model_ptr make_layered(layer_chain chain);
/// Builds the layers, and casts them if that is asked for. Errors: build_layers(); E0504 for a layer that cannot be
/// cast.
[[nodiscard]] expected<layered_model_ptr> make_layered(const std::vector<layer_spec>& specs, std::string name,
                                                       std::optional<c10::ScalarType> dtype);

/// Casts weights and buffers, or moves them. The layers of a chain are cloned first, as their owner may use them too.
/// E0104 for a layer that is quantized: its integers have no other type.
[[nodiscard]] expected<layer_chain> cast_layers(layer_chain chain, c10::ScalarType dtype);
[[nodiscard]] layer_chain move_layers(layer_chain chain, c10::Device device);

}  // namespace troupe
