#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messages/score.hpp"
#include "runtime/ledger/call_fold.hpp"
#include "runtime/metric/odd_outputs.hpp"
#include "runtime/metric/row_writer.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// Adds up the scores of one sink in one call. The words of a score: score_layout.hpp.
/// Not thread-safe. The owner of a run keeps it, so that the aggregator's death loses nothing.
class metric_fold final : public call_fold {
 public:
  /// An error names the samples of its micro-batch where their number is known: `micro_batch` of them in each,
  /// `samples` in all.
  explicit metric_fold(std::vector<metric_ptr> metrics, std::uint64_t micro_batch = 0, std::uint64_t samples = 0);

  /// The rows of the last metric, which must keep some, are written there, and the metric has no value. Before the
  /// first fold().
  void write_last_rows(std::shared_ptr<row_writer> writer) { writer_ = std::move(writer); }

  /// Adds one micro-batch. Ids must ascend strictly, since a micro-batch counts once and floating-point sums depend on
  /// the order; anything else stops the process. A score without samples (an empty part of a route) counts as a
  /// micro-batch and changes no word.
  /// Errors: E0702: the score has other words than the metrics. Nothing is changed then. E0603: a metric threw, or
  /// would keep more rows than limits::metric_rows_bytes_max; what writes rows gave an error. Metrics before it have
  /// the score already then, so that nothing more may be folded.
  [[nodiscard]] expected<void> fold(const score& added) override;

  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  [[nodiscard]] odd_samples odd() const noexcept { return {words_[words_.size() - 2], words_.back()}; }
  [[nodiscard]] std::uint64_t micro_batches() const noexcept { return micro_batches_; }
  /// As score_words_of() has them, without rows.
  [[nodiscard]] const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  /// The values of all metrics, in their order, for the scores folded so far; NaN for a mean over nothing. E0603: a
  /// metric threw.
  [[nodiscard]] expected<std::vector<metric_value>> compute() const;
  /// What `one`, which must be among the metrics, has got so far.
  [[nodiscard]] metric_total total_of(const metric_ptr& one) const;

 private:
  [[nodiscard]] expected<void> add(const score& added);
  [[nodiscard]] expected<void> add_rows(micro_batch_id id, const std::vector<std::span<const std::byte>>& rows);
  /// ", samples 64 to 127".
  [[nodiscard]] std::string rows_of(std::uint64_t index) const;

  std::vector<metric_ptr> metrics_;
  std::vector<std::uint64_t> words_;
  /// By metric; empty where it keeps none.
  std::vector<std::vector<std::byte>> rows_;
  /// Null: all metrics have values.
  std::shared_ptr<row_writer> writer_;
  std::optional<micro_batch_id> last_;
  std::uint64_t samples_ = 0;
  std::uint64_t micro_batches_ = 0;
  const std::uint64_t rows_each_;
  const std::uint64_t rows_in_all_;
};

}  // namespace troupe
