#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/graph_recorder.hpp"
#include "runtime/flow/stage_body.hpp"
#include "runtime/stage/device_body.hpp"

namespace troupe {

/// Another body, recorded once per shape of its inputs and given to its device as a whole from then on (CUDA graphs):
/// the host makes one call in the place of one per kernel. For the inside of a device_body, whose stream is current.
///
/// The first limits::graph_warm_ups runs of a shape are the other body's. So is the next one; beside it the graph is
/// recorded, launched, and compared with it bit by bit, for which the host waits once. From then on inputs are copied
/// to where the graph reads them. Outputs that leave are shown where it writes them, until the next run: they are
/// fetched before; others are copied.
///
/// E0602 for a body that cannot be recorded, or gives other bits as a graph. Beyond limits::graph_shapes_max shapes,
/// and for inputs of different samples, empty or no dense tensors, it runs as without.
class graph_body final : public stage_body {
 public:
  /// `ways`: for each output, as the device_body has them.
  graph_body(std::string stage, std::shared_ptr<stage_body> inner, std::shared_ptr<graph_recorder> recorder,
             std::vector<output_way> ways)
      : stage_(std::move(stage)), inner_(std::move(inner)), recorder_(std::move(recorder)), ways_(std::move(ways)) {}

  void on_start() override { inner_->on_start(); }
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override;

 private:
  struct recording {
    /// Where it reads.
    std::vector<activation> inputs;
    /// Where it writes, in memory of the graph.
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
  const std::shared_ptr<graph_recorder> recorder_;
  const std::vector<output_way> ways_;
  /// By what a kernel could choose by.
  std::map<std::string, shape> shapes_;
};

}  // namespace troupe
