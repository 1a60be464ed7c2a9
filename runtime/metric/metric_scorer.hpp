#pragma once

#include <string>
#include <vector>

#include "runtime/engine/stage_body.hpp"
#include "runtime/metric/metric.hpp"

namespace troupe {

/// Scores one micro-batch with a list of metrics. Outputs: a tensor [samples, classes]; labels: the one tensor among
/// the passengers. Const state only, so that one object may serve all replicas.
class metric_scorer final : public scorer {
 public:
  /// With `return_outputs` a score also carries the outputs, as a contiguous copy that views no edge's memory.
  /// `tensor`: which one of several outputs; empty: the only one.
  explicit metric_scorer(std::vector<metric_ptr> metrics, bool return_outputs = false, std::string tensor = {});

  /// words: the states of the metrics, one after another. Anything that does not fit is E0603, naming metric,
  /// micro-batch and its samples.
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) override;

 private:
  std::vector<metric_ptr> metrics_;
  std::size_t words_ = 0;
  bool return_outputs_;
  std::string tensor_;
};

/// Words of all states of a list of metrics.
std::size_t words_of(const std::vector<metric_ptr>& metrics);

}  // namespace troupe
