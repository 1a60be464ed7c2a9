#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct layer;
struct layer_shape;
struct layer_chain;

/// One line of `troupe inspect` and `troupe plan`. No LibTorch in here: it is for printing.
struct layer_summary {
  std::size_t index = 0;
  std::string name;
  std::string type;
  std::uint64_t parameters = 0;
  std::uint64_t trainable = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t buffer_bytes = 0;
  /// From a probe, if there was one.
  std::optional<std::vector<std::int64_t>> input_shape;
  std::optional<std::vector<std::int64_t>> output_shape;
  std::optional<std::uint64_t> output_bytes;
};

struct chain_summary {
  std::string file;
  std::vector<layer_summary> layers;
  /// Sums over the layers.
  std::uint64_t parameters = 0;
  std::uint64_t trainable = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t buffer_bytes = 0;
};

/// Sets the bytes of parameters and buffers to those that the layer's module has now.
void count_bytes(layer& of);

/// `shapes` is empty or has one entry per layer (probe.hpp).
chain_summary summarize(const layer_chain& chain, const std::vector<layer_shape>& shapes);
chain_summary summarize(const layer_chain& chain);

}  // namespace troupe
