#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/limits.hpp"
#include <troupe/error.hpp>
#include <troupe/model.hpp>

namespace troupe {

/// Seconds that each layer takes for one micro-batch: the median over passes through the whole chain, after a warm-up,
/// within `budget`. Measures in a thread of its own with `threads` intra-op threads. `chain` is timed as given, with
/// its layers optimized or not. `micro_batch` has the shape and dtype of the real ones and passed probe_chain. E0602;
/// E0607 if it is told to stop between layers.
expected<std::vector<double>> profile_layers(const layer_chain& chain, const at::Tensor& micro_batch,
                                             std::uint32_t threads, const std::stop_token& stop = {},
                                             std::chrono::milliseconds budget = limits::profile_budget);

/// One layer of any kind.
struct timed_step {
  /// In errors.
  std::string name;
  std::function<at::Tensor(at::Tensor)> run;
};

/// The same of other layers, as they are. `make_steps` is called in the measuring thread.
expected<std::vector<double>> profile_steps(const std::string& model,
                                            const std::function<std::vector<timed_step>()>& make_steps,
                                            const at::Tensor& micro_batch, std::uint32_t threads,
                                            const std::stop_token& stop = {},
                                            std::chrono::milliseconds budget = limits::profile_budget);

}  // namespace troupe
