#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <troupe/data_set.hpp>
#include <troupe/metric.hpp>
#include <troupe/model.hpp>

namespace troupe::bench {

/// What every variant of a row evaluates.
struct workload {
  std::string model;
  std::uint64_t micro_batch = 1;
  /// As loaded, for pipelines, which optimize it themselves.
  layer_chain chain;
  /// The same optimized layer by layer, for the loops.
  layer_chain code;
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

/// The model of that name alone, with the same weights in every process.
expected<layer_chain> make_bench_chain(const std::string& model);

/// One workload per micro-batch size of a model of that name. Loads and optimizes with the calling thread's settings.
expected<std::vector<workload>> make_workloads(const std::string& model);

}  // namespace troupe::bench
