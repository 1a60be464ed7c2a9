#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>
#include <troupe/model.hpp>

namespace troupe {

/// What each stage gets when `micro_batch` goes through the chain cut at `boundaries` (stage i runs the layers
/// [b[i], b[i+1])): shapes, dtypes and strides as in a real run. The chain accepts the micro-batch (probe_chain);
/// should it not, E0602 names the layer. E0607 if it is told to stop between layers. Runs in the calling thread, with
/// that thread's settings.
expected<std::vector<at::Tensor>> stage_inputs(const layer_chain& chain, std::span<const std::size_t> boundaries,
                                               const at::Tensor& micro_batch, const std::stop_token& stop = {});

}  // namespace troupe
