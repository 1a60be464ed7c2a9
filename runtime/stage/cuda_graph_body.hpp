#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/kernel_recorder.hpp"
#include "runtime/flow/stage_body.hpp"
#include "runtime/stage/device_body.hpp"

namespace troupe {

/// Runs another body as a CUDA graph. The kernels of that body are recorded once per shape of its inputs. From then on
/// the host launches the whole recording by one call, in place of one call per kernel. It is used inside a device_body,
/// whose stream is current.
///
/// The first limits::graph_warm_ups runs of a shape run the other body itself. The next one does, too, and in addition
/// the graph is recorded and launched, and its outputs are compared bit by bit with those of the body. The host waits
/// for that once. In later runs the inputs are copied into the memory from which the graph reads.
///
/// The graph writes its outputs into memory of its own, which the next run overwrites. An output that leaves the device
/// (output_way::leaves) is returned as a view of that memory, because the device_body fetches it before the next run.
/// Any other output is copied.
///
/// E0602 if the body cannot be recorded, or if the graph gives other bits. The body runs without a graph where there
/// are more than limits::graph_shapes_max shapes, where the inputs have different samples, and where a tensor is empty
/// or not dense.
class cuda_graph_body final : public stage_body {
 public:
  /// `ways`: what the device_body does with each output.
  cuda_graph_body(std::string stage, std::shared_ptr<stage_body> inner, std::shared_ptr<kernel_recorder> recorder,
                  std::vector<output_way> ways)
      : stage_(std::move(stage)), inner_(std::move(inner)), recorder_(std::move(recorder)), ways_(std::move(ways)) {}

  void on_start() override { inner_->on_start(); }
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override;

 private:
  struct recording {
    /// The tensors from which the graph reads.
    std::vector<activation> inputs;
    /// The tensors to which the graph writes, in memory of its own.
    std::vector<activation> outputs;
    std::unique_ptr<recorded_graph> graph;
  };
  struct shape {
    std::uint32_t runs = 0;
    std::optional<recording> made;
  };
  [[nodiscard]] shape* find(std::span<const activation> inputs);
  [[nodiscard]] expected<recording> record(std::span<const activation> inputs, std::span<const activation> outputs);
  [[nodiscard]] expected<void> replay(const recording& of, std::span<const activation> inputs,
                                      std::span<activation> outputs) const;
  [[nodiscard]] tl::unexpected<error> cannot_record(const std::string& why) const;

  const std::string stage_;
  const std::shared_ptr<stage_body> inner_;
  const std::shared_ptr<kernel_recorder> recorder_;
  const std::vector<output_way> ways_;
  /// By a text of all that may decide which kernels the body runs: the sizes, strides, types and names of its inputs.
  std::map<std::string, shape> shapes_;
};

}  // namespace troupe
