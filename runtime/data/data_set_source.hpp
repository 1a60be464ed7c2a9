#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/aligned_rows.hpp"
#include "runtime/ledger/block_prefetch.hpp"
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

/// Bytes of blocks that data workers have decoded ahead, or are decoding, unless the next block alone has more. Beside
/// them the loader holds the block in use, and one that is read again.
inline constexpr std::uint64_t data_ahead_bytes_max = std::uint64_t{256} << 20;

/// Whole micro-batches.
struct decoded_block {
  sample_range samples;
  aligned_tensors inputs;
  aligned_tensors labels;
};

using decoded_block_ptr = std::shared_ptr<const decoded_block>;

/// The first `limit` samples of a data set (all without one) as consecutive micro-batches, the last as small as it
/// comes. Payload: tensor_set of the inputs; labels: tensor_set of the labels, null without any. All tensors start
/// at limits::payload_alignment and are contiguous, whatever the data set gives, and stay as they are when it fills its
/// memory anew; a block that lacks rows is E0604.
/// Reads and decodes in blocks of several micro-batches, or of one where sizes vary (data_set::has_varying_sizes); a
/// micro-batch keeps its block in memory. After an error the same samples are tried again.
/// One worker is the loader's thread. More are as many threads beside it, which begin with the first micro-batch that
/// is asked for and end with the last block, an error, or this object. They read ahead, at most 2 blocks each and
/// data_ahead_bytes_max together; next() waits for them. Blocks, order and bits are the same for every number,
/// and an error is that of the first block that has one. The loader's thread itself reads again what was given before.
class data_set_source final : public micro_batch_source {
 public:
  /// `micro_batch` samples each, at least 1. `first`: how many micro-batches are left out at the beginning, unread; the
  /// others are what they would be without it.
  data_set_source(data_set_ptr data, std::uint64_t micro_batch, std::optional<std::uint64_t> limit = std::nullopt,
                  std::uint64_t first = 0, std::uint32_t workers = 1);

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override;
  [[nodiscard]] bool is_rereadable() const noexcept override { return true; }
  [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t index) override;
  [[nodiscard]] std::optional<std::uint64_t> count() const override;

 private:
  [[nodiscard]] expected<decoded_block_ptr> next_block();
  [[nodiscard]] loaded_micro_batch cut_from(const decoded_block& block, std::uint64_t sample) const;

  data_set_ptr data_;
  std::uint64_t micro_batch_;
  std::uint64_t end_;
  std::uint64_t block_samples_;
  /// First sample of the next micro-batch.
  std::uint64_t position_ = 0;
  std::uint32_t workers_;
  /// What next() gives parts of, and what was read again. Null before.
  decoded_block_ptr block_;
  decoded_block_ptr read_again_;
  /// The last member: its threads end before anything else does.
  std::unique_ptr<block_prefetch> ahead_;
};

}  // namespace troupe
