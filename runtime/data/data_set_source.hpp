#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/aligned_rows.hpp"
#include "runtime/ledger/micro_batch_source.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// The tensors of a block by name, each cut into micro-batches.
struct aligned_tensors {
  std::vector<aligned_rows> rows;
  std::vector<std::string> names;

  /// Part `index` of all; null without tensors. Adds its bytes to `bytes`.
  [[nodiscard]] payload_ptr part(std::int64_t index, std::uint64_t& bytes) const;
};

/// The first `limit` samples of a data set (all without one) as consecutive micro-batches, the last as small as it
/// comes. Payload: tensor_set of the inputs; labels: tensor_set of the labels, null without any. All tensors start
/// at limits::payload_alignment and are contiguous, whatever the data set gives, and stay as they are when it fills its
/// memory anew; a block that lacks rows is E0604.
/// Reads and decodes in blocks of several micro-batches, or of one where sizes vary (data_set::has_varying_sizes), on
/// the loader's thread; a micro-batch keeps its block in memory. After an error the same samples are tried again.
class data_set_source final : public micro_batch_source {
 public:
  /// `micro_batch` samples each, at least 1. `first`: how many micro-batches are left out at the beginning, unread; the
  /// others are what they would be without it.
  data_set_source(data_set_ptr data, std::uint64_t micro_batch, std::optional<std::uint64_t> limit = std::nullopt,
                  std::uint64_t first = 0);

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override;
  [[nodiscard]] bool is_rereadable() const noexcept override { return true; }
  [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t index) override;
  [[nodiscard]] std::optional<std::uint64_t> count() const override;

 private:
  [[nodiscard]] expected<loaded_micro_batch> read_at(std::uint64_t sample);
  expected<void> load_block_at(std::uint64_t sample);

  data_set_ptr data_;
  std::uint64_t micro_batch_;
  std::uint64_t end_;
  std::uint64_t block_samples_;
  /// First sample of the next micro-batch.
  std::uint64_t position_ = 0;
  /// Samples that inputs_ and labels_ hold: whole micro-batches.
  sample_range block_;
  aligned_tensors inputs_;
  aligned_tensors labels_;
};

}  // namespace troupe
