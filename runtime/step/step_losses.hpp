#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/journal/step_record.hpp"
#include "runtime/ledger/call_fold.hpp"

namespace troupe {

/// The words of a micro-batch's loss in its score: bits of doubles. A micro-batch without samples has none.
enum class loss_word : std::uint8_t { sum, weight };
inline constexpr std::size_t loss_words = 2;

/// The losses of one training step. They are kept for each micro-batch, and added in the order of the data, so that the
/// sums have the same bits for every number of replicas. Threads: as call_fold.
class step_losses final : public call_fold {
 public:
  /// `replicas`: as in step_layout.
  explicit step_losses(std::uint64_t replicas) : replicas_(replicas) {}

  [[nodiscard]] expected<void> fold(const score& next) override;

  struct totals {
    double loss_sum = 0;
    double weight = 0;
    /// Those with samples.
    std::uint64_t micro_batches = 0;
    std::uint64_t samples = 0;
  };
  [[nodiscard]] totals add() const;

  /// What a journal has of a step, beside the weight: the words of its record, and back. Nothing for words that are
  /// none of these.
  [[nodiscard]] static std::vector<std::uint64_t> words_of(const totals& all);
  [[nodiscard]] static std::optional<totals> totals_of(const step_record& step);

 private:
  struct one {
    double sum = 0;
    double weight = 0;
    std::uint64_t samples = 0;
  };

  std::uint64_t replicas_;
  /// By replica, in the order of its micro-batches; a replica's leaves stand together.
  std::vector<std::vector<one>> blocks_ = std::vector<std::vector<one>>(replicas_);
};

}  // namespace troupe
