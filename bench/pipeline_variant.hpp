#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "program/model_pipeline.hpp"
#include "runtime/journal/journal_writer.hpp"
#include "workload.hpp"

namespace troupe::bench {

struct pipeline_shape {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  std::uint32_t threads = 1;
  /// Stages in worker processes.
  std::optional<worker_options> workers = std::nullopt;
};

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
  model_pipeline stages_;
};

}  // namespace troupe::bench
