#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include "runtime/metric/scored_tensor.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// Scores one micro-batch with a list of metrics. Const state only, so that one object may serve all replicas.
class metric_scorer final : public scorer {
 public:
  /// A score may have so many words with its rows; without rows it always has as many as the metrics ask for.
  explicit metric_scorer(std::vector<metric_ptr> metrics, scored_names names = {},
                         std::size_t words_max = std::numeric_limits<std::size_t>::max());

  /// words: score_layout.hpp. Anything that does not fit is E0603, naming metric, micro-batch and its samples. The
  /// first micro-batch of a call is judged here, too.
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) override;

  /// Whether the metrics fit the first micro-batch, before a run starts: `outputs` is what the scored stage gave for
  /// `input`. E0108 for the first metric that cannot be computed, or that refuses (metric::judge); it names the metric,
  /// what was found and one fix. An empty part of a route fits. What a metric throws becomes the error.
  [[nodiscard]] expected<void> judge(const payload_ptr& outputs, const activation& input) const;

 private:
  std::vector<metric_ptr> metrics_;
  std::size_t words_;
  scored_names names_;
  std::size_t words_max_;
};

}  // namespace troupe
