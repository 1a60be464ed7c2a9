#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "runtime/flow/stage_body.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/model/graph_values.hpp"
#include "runtime/model/probe.hpp"
#include "runtime/partition/partition_layers.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// How the layers of one stage run.
struct part_options {
  /// Its number in errors.
  stage_index stage = 0;
  std::uint32_t threads = 1;
  /// Empty: the stage is not warmed up.
  graph_values warm_up = {};
  c10::Device device = c10::DeviceType::CPU;
};

/// What a process needs of a model, whose other weights it neither reads nor changes.
struct kept_layers {
  /// As bind() gets them.
  std::set<std::string> inputs;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A fault of a layer.
struct layer_finding {
  std::size_t layer = 0;
  std::string name;  ///< "layer 3 (features.0 Conv2d)"
  std::string text;
};

/// A model of a run: its graph as it stands, and beside it the rewritten one, if there is one. Replicas share its
/// weights. One thread at a time.
class layered_model {
 public:
  layered_model(operator_graph graph, layer_unit unit);

  /// The file, or what stands for it in errors.
  [[nodiscard]] const std::string& name() const noexcept { return plain_->model().file; }
  [[nodiscard]] const std::vector<graph_layer>& layers() const noexcept { return plain_->layers(); }
  [[nodiscard]] const layered_graph& plain() const noexcept { return *plain_; }
  [[nodiscard]] const layered_graph_ptr& shared_plain() const noexcept { return plain_; }
  /// Whether a stage can begin in front of the layer.
  [[nodiscard]] bool can_begin(std::size_t layer) const { return running().can_begin(layer); }
  /// Types and trainable parameters, and where no cut is possible.
  [[nodiscard]] std::vector<layer_weight> weights() const;
  /// Weights and buffers, in the order of the layers.
  [[nodiscard]] std::vector<at::Tensor> tensors() const;

  /// Decides which optional arguments of the model get data: those of these names. Without a call none do. Before all
  /// that follows; layers may change.
  void bind(const std::set<std::string>& given);
  /// A micro-batch of the data as the model's inputs (inputs_by_name()). An error also names optional arguments.
  [[nodiscard]] expected<graph_values> inputs_from(const payload_ptr& data) const;

  /// Sends one sample through all layers on the calling thread (probe_layers()).
  [[nodiscard]] expected<std::vector<passing_values>> probe(const graph_values& micro_batch,
                                                            const std::stop_token& stop) const;
  /// Layers whose code gives other results for an equal input (find_random()).
  [[nodiscard]] std::vector<layer_finding> random_code() const;
  /// Layers that gave other bits when they got the same input twice. The first layer gets the sample. A layer that
  /// fails ends the trial: the run reports that. E0607.
  [[nodiscard]] expected<std::vector<layer_finding>> unrepeatable(const graph_values& sample,
                                                                  const std::stop_token& stop) const;

  /// Rewrites the graph, so that it runs faster (rewrite_graph()). Once: the second call has no effect.
  void optimize(bool is_for_device);
  /// How the rewritten model's outputs for a sample differ from those of the model as it stands; nothing if they may
  /// take their place (output_difference.hpp). optimize() was called.
  [[nodiscard]] std::optional<std::string> difference(const graph_values& sample) const;
  /// The model runs as it stands from now on, whatever optimize() has made.
  void run_plain() { rewritten_.reset(); }

  // All below is about the rewritten model, if there is one.
  /// What the bits of a sample's outputs may depend on (find_bit_dependence()). Also tried on the
  /// first sample: alone and among the others, and on one thread where there are more. Called on a thread that has
  /// `threads` intra-op threads, and keeps them.
  [[nodiscard]] std::string bit_dependence(std::uint32_t threads, const graph_values& sample) const;
  /// Seconds per layer for this micro-batch, within a budget (profile_layers).
  [[nodiscard]] expected<std::vector<double>> time_layers(const graph_values& micro_batch, std::uint32_t threads,
                                                          const std::stop_token& stop,
                                                          std::chrono::milliseconds budget) const;
  /// What each stage gets when the micro-batch goes through the model, cut at `boundaries`.
  [[nodiscard]] expected<std::vector<graph_values>> inputs_of(const std::vector<std::size_t>& boundaries,
                                                              const graph_values& micro_batch,
                                                              const std::stop_token& stop) const;
  /// Whether these layers, rewritten, need a weight that was not kept when the model was opened.
  [[nodiscard]] bool lacks_weights(std::size_t begin, std::size_t end) const;
  /// The body of the layers [begin, end). E0504 for layers of code that cannot be moved, or were to another device.
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_body(std::size_t begin, std::size_t end,
                                                                const part_options& options) const;
  /// Optional arguments that get no data.
  [[nodiscard]] std::vector<std::string> absent_inputs() const;

 private:
  [[nodiscard]] const layered_graph& running() const noexcept { return rewritten_ ? *rewritten_ : *plain_; }

  /// Kept where some argument is optional.
  std::optional<operator_graph> unbound_;
  layer_unit unit_;
  std::set<std::string> bound_;
  layered_graph_ptr plain_;
  layered_graph_ptr rewritten_;
};

using layered_model_ptr = std::shared_ptr<layered_model>;

}  // namespace troupe
