#pragma once

#include <optional>
#include <vector>

#include "messages/score.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// Merges the scores of one call into the values of its metrics. One thread at a time; copyable, so that the state can
/// be kept outside the actor that folds.
class metric_fold {
 public:
  explicit metric_fold(std::vector<metric_ptr> metrics);

  /// Ids must ascend (a broken invariant otherwise: no micro-batch is ever folded twice, and sums depend on the order).
  /// A score with another number of words than the metrics have is E0702, and changes nothing.
  [[nodiscard]] expected<void> fold(const score& part);

  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  [[nodiscard]] std::uint64_t micro_batches() const noexcept { return micro_batches_; }
  /// The metrics' states so far, one after another.
  [[nodiscard]] const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  /// In the order of the metrics. May be asked at any time, for what is folded so far.
  [[nodiscard]] std::vector<metric_value> compute() const;

 private:
  std::vector<metric_ptr> metrics_;
  std::vector<std::uint64_t> words_;
  std::optional<micro_batch_id> last_;
  std::uint64_t samples_ = 0;
  std::uint64_t micro_batches_ = 0;
};

}  // namespace troupe
