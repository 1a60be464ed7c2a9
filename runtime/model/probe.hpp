#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>
#include <troupe/model.hpp>

namespace troupe {

/// What one layer took and gave in the probe; dimension 0 is the number of samples probed.
struct layer_shape {
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> output;
  /// Bytes of all probed samples together.
  std::uint64_t output_bytes = 0;
};

/// Runs real samples (mostly one, as [1, ...]) through all layers before anything else does. E0209 names the layer, the
/// shape it got and, where its parameters tell, the shape it takes; also if a layer gives a tensor that
/// cannot pass between stages (sparse, nested, quantized with more than one scale), or the last output is quantized or
/// has another number of rows than the input. Runs in the calling thread, with that thread's settings. E0607 if
/// it is told to stop between layers.
expected<std::vector<layer_shape>> probe_chain(const layer_chain& chain, const at::Tensor& samples,
                                               const std::stop_token& stop = {});

/// "[64, 3, 32, 32]"
std::string to_string(const std::vector<std::int64_t>& sizes);

}  // namespace troupe
