#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/model/graph_values.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// One value that crosses a place of the model in the probe.
struct passing_value {
  /// [N, ...]; nothing for a number.
  std::optional<std::vector<std::int64_t>> shape;
  /// For all probed samples together.
  std::uint64_t bytes = 0;
  /// For each further sample; 0 of what all samples share, such as a mask that is made of constants.
  std::uint64_t bytes_per_sample = 0;
};

/// In the order of layered_graph::crossing().
using passing_values = std::vector<passing_value>;
/// For the probed samples and so many more.
[[nodiscard]] std::uint64_t bytes_of(const passing_values& all, std::uint64_t further_samples = 0);

/// Runs real samples (mostly one, as [1, ...]) through all layers before anything else does. Gives what crosses the
/// front of each layer, and as the last entry the end of the model. `one_more` has one sample more, by which bytes are
/// told apart that grow with the samples; where there is none, or the model does not take it, all bytes do. E0209 names
/// the layer, the shape it got and, where its parameters tell, the shape it takes; also if a layer gives a tensor that
/// cannot pass between stages (sparse, nested, quantized with more than one scale), or the only output is quantized or
/// has another number of rows than the input. Runs in the calling thread, with that thread's settings. E0607 if it is
/// told to stop between layers.
expected<std::vector<passing_values>> probe_layers(const layered_graph& graph, const graph_values& inputs,
                                                   const std::stop_token& stop = {}, const graph_values& one_more = {});

/// "[64, 3, 32, 32]"
std::string to_string(const std::vector<std::int64_t>& sizes);

}  // namespace troupe
