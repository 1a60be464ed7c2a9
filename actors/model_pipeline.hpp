#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/actors/pipeline.hpp>
#include <troupe/messages/error.hpp>
#include <troupe/runtime/config/eval_options.hpp>
#include <troupe/runtime/model/layer_chain.hpp>
#include <troupe/runtime/trace/trace_recorder.hpp>

namespace troupe {

/// How a chain of layers becomes a running pipeline.
struct model_pipeline_options {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  /// Intra-op threads per stage, resolved.
  std::uint32_t threads = 1;
  optimize_mode optimize = optimize_mode::layer;
  std::string partition = "parameters";
  std::uint32_t num_pipe_buffers = limits::pipe_buffers_default;
  bool trace = false;
};

/// A model cut into stages, running. Replicas share the weights.
struct model_pipeline {
  /// Numbers the events of the run's trace, if one was asked for; outlives the engines.
  std::shared_ptr<trace_clock> trace;
  /// "0 Conv2d" for each layer, by stage.
  std::vector<std::vector<std::string>> layers;
  /// Shared with the futures of calls under way.
  std::shared_ptr<pipeline> running;
};

/// Optimizes, cuts and starts. `sample` is a real micro-batch [N, ...] to warm the stages up with, to size the loader's
/// prefetch by, and to time layers on for partition = "profile"; without it (undefined) there is no profile. Errors:
/// E0106 more stages than layers, E05xx partition, E0209 a layer that does not accept the sample.
expected<model_pipeline> start_model_pipeline(const layer_chain& chain, const model_pipeline_options& options,
                                              const at::Tensor& sample);

/// Runs `start` on a thread that ends with it; an exception becomes E0601, which names `what`.
expected<model_pipeline> in_starting_thread(const std::string& what,
                                            const std::function<expected<model_pipeline>()>& start);

}  // namespace troupe
