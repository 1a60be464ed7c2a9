#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/jit/api/method.h>

#include "../measurement.hpp"
#include <troupe/data_set.hpp>
#include <troupe/metric.hpp>

namespace troupe::bench {

/// What one would write with LibTorch alone for one GPU: one thread gives one stream the copies and the forward of a
/// micro-batch, does not wait, and scores the micro-batch that was given four before. The model is frozen and fused as
/// a whole; inputs and outputs go through pinned memory.
class device_loop {
 public:
  /// Throws what LibTorch throws.
  static device_loop load(const std::string& model, c10::Device device);

  /// `fuses`: with the kernels that TorchScript's fuser makes, as LibTorch does by itself.
  [[nodiscard]] expected<measurement> run(const data_set_ptr& data, std::uint64_t micro_batch,
                                          std::uint64_t micro_batches, bool fuses) const;

  std::vector<metric_ptr> metrics;

 private:
  device_loop(torch::jit::Method forward, c10::Device device) : forward_(std::move(forward)), device_(device) {}
  [[nodiscard]] expected<std::vector<metric_value>> pass(const data_set_ptr& data, std::uint64_t micro_batch,
                                                         std::uint64_t micro_batches) const;

  mutable torch::jit::Method forward_;
  c10::Device device_;
};

}  // namespace troupe::bench
