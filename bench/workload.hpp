#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include "program/models/layered_model.hpp"
#include <troupe/data_set.hpp>
#include <troupe/metric.hpp>
#include <troupe/model.hpp>

namespace troupe::bench {

/// What every variant of a row evaluates.
struct workload {
  std::string model;
  std::uint64_t micro_batch = 1;
  /// For loops that use LibTorch alone.
  torch::jit::Module module;
  /// The same for pipelines, which rewrite it themselves.
  troupe::model network;
  /// The same rewritten, for loops over its stages.
  layered_model_ptr code;
  data_set_ptr data;
  std::vector<std::string> metric_names;
  std::vector<metric_ptr> metrics;
  /// How two stages are cut.
  std::string partition;
  /// All layers cost the same: two stages can at best take half of the time of one thread.
  bool even = false;

  [[nodiscard]] std::uint64_t micro_batches_max() const { return data->size() / micro_batch; }
};

/// "lenet", "resnet20", "mlp256", "mlp512", "mlp1024"
const std::vector<std::string>& model_names();

/// The module of that name, with the same weights in every process.
torch::jit::Module make_bench_module(const std::string& model);

/// One workload per micro-batch size of a model of that name. Loads and optimizes with the calling thread's settings.
expected<std::vector<workload>> make_workloads(const std::string& model);

}  // namespace troupe::bench
