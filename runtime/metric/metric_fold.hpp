#pragma once

#include <optional>
#include <vector>

#include "messages/score.hpp"
#include "runtime/metric/odd_outputs.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// Adds up the scores of one sink in one call. A score has 64-bit words (score_words_of).
/// Not thread-safe. A copy has its own words and shares the metrics, which are immutable: the owner of a run keeps one,
/// so that the aggregator's death loses nothing.
class metric_fold {
 public:
  explicit metric_fold(std::vector<metric_ptr> metrics);

  /// Adds one micro-batch. Ids must ascend strictly, since a micro-batch counts once and floating-point sums depend on
  /// the order; anything else stops the process. A score without samples (an empty part of a route) counts as a
  /// micro-batch and changes no word.
  /// Errors: E0702: the score has another number of words than the metrics. Nothing is changed then. E0603: a metric
  /// threw; metrics before it have the score already, so that nothing more may be folded.
  [[nodiscard]] expected<void> fold(const score& added);

  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  [[nodiscard]] odd_samples odd() const noexcept { return {words_[words_.size() - 2], words_.back()}; }
  [[nodiscard]] std::uint64_t micro_batches() const noexcept { return micro_batches_; }
  /// As score_words_of() has them.
  [[nodiscard]] const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  /// The values of all metrics, in their order, for the scores folded so far; NaN for a mean over nothing. E0603: a
  /// metric threw.
  [[nodiscard]] expected<std::vector<metric_value>> compute() const;

 private:
  std::vector<metric_ptr> metrics_;
  std::vector<std::uint64_t> words_;
  std::optional<micro_batch_id> last_;
  std::uint64_t samples_ = 0;
  std::uint64_t micro_batches_ = 0;
};

}  // namespace troupe
