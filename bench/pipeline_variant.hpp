#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "program/run/started_run.hpp"
#include "runtime/journal/journal_writer.hpp"
#include "workload.hpp"
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe::bench {

struct pipeline_shape {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  std::uint32_t threads = 1;
  worker_options workers = {};
};

/// Source, a pipeline of stages, sink: what a variant and its worker processes run.
topology bench_topology(const model& network, const data_set_ptr& data, const std::vector<std::string>& metrics,
                        const std::string& partition, std::uint32_t stages, std::uint32_t replicas);

/// A running pipeline as `eval` makes it; between calls its engines are parked.
class pipeline_variant {
 public:
  static expected<pipeline_variant> start(const workload& work, pipeline_shape shape);

  /// One short call to wake it up, then a timed one: from the order to load to the last fold.
  /// With a journal, the timed call appends to it.
  expected<measurement> run(const workload& work, std::uint64_t micro_batches,
                            const std::shared_ptr<journal_writer>& journal = nullptr);
  [[nodiscard]] std::vector<std::size_t> boundaries() const;

 private:
  started_run stages_;
};

}  // namespace troupe::bench
