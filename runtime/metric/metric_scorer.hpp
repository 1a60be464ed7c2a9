#pragma once

#include <string>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include "runtime/metric/scored_tensor.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// Scores one micro-batch with a list of metrics: one tensor of its outputs against one of its labels. Const state
/// only, so that one object may serve all replicas.
class metric_scorer final : public scorer {
 public:
  /// With `return_outputs` a score also carries the outputs, as a contiguous copy that views no edge's memory.
  explicit metric_scorer(std::vector<metric_ptr> metrics, bool return_outputs = false, scored_names names = {});

  /// words: see score_words_of(). Anything that does not fit is E0603, naming metric, micro-batch and its samples. The
  /// first micro-batch of a call is judged here, too.
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) override;

  /// Whether the metrics fit the first micro-batch, before a run starts: `outputs` is what the scored stage gave for
  /// `input`. E0108 for the first metric that cannot be computed, or that refuses (metric::judge); it names the metric,
  /// what was found and one fix. An empty part of a route fits. What a metric throws becomes the error.
  [[nodiscard]] expected<void> judge(const payload_ptr& outputs, const activation& input) const;

 private:
  struct scored_tensors {
    const at::Tensor* outputs = nullptr;
    /// Null where there are no metrics.
    const at::Tensor* labels = nullptr;
  };
  [[nodiscard]] expected<scored_tensors> find(const payload_ptr& outputs, const activation& input) const;

  std::vector<metric_ptr> metrics_;
  std::size_t words_;
  bool return_outputs_;
  scored_names names_;
};

/// Words of a score: the states of all metrics, one after another, then odd_samples: those with NaN among the outputs,
/// and those with an infinity.
std::size_t score_words_of(const std::vector<metric_ptr>& metrics);
inline constexpr std::size_t odd_words = 2;

}  // namespace troupe
