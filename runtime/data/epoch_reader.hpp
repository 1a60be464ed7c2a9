#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/ledger/block_prefetch.hpp"
#include "runtime/ledger/micro_batch_source.hpp"
#include "runtime/random/shuffled_order.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// Where a training stands in its data: before the sample of this place in the order of this epoch. At the end of an
/// epoch it is {epoch + 1, 0}.
struct epoch_position {
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;

  friend bool operator==(const epoch_position&, const epoch_position&) = default;
};

struct epoch_reading {
  std::uint64_t micro_batch = 1;
  /// The first so many samples of the data set; at most all.
  std::uint64_t samples = 1;
  /// In shuffled_order(seed, epoch, samples); otherwise as they stand.
  bool is_shuffled = true;
  std::uint64_t seed = 0;
  /// Threads that read ahead; 1: the caller of read() reads.
  std::uint32_t workers = 1;
};

/// The micro-batches of a data set in epochs. The last one of an epoch has the rest, so that none has samples of two
/// epochs. The same place gives the same bits whenever and however often it is read. One thread at a time.
class epoch_reader {
 public:
  epoch_reader(data_set_ptr data, epoch_reading how);

  /// The position behind so many micro-batches, or behind the epoch where it has fewer left.
  [[nodiscard]] epoch_position behind(epoch_position from, std::uint64_t micro_batches) const noexcept;
  /// In the epoch, from there on; at least 1.
  [[nodiscard]] std::uint64_t micro_batches_left(epoch_position from) const noexcept;
  [[nodiscard]] std::uint64_t samples() const noexcept { return how_.samples; }
  /// The samples of the micro-batch at a position, by their numbers in the data set.
  [[nodiscard]] std::vector<std::uint64_t> samples_at(epoch_position from) const;

  /// The micro-batch at a position; its tensors are contiguous and aligned. After a read workers read ahead. Errors:
  /// gathered_samples(), E0614.
  [[nodiscard]] expected<sample_block> read(epoch_position from);

 private:
  [[nodiscard]] epoch_position nth_from(epoch_position from, std::uint64_t index) const noexcept;
  [[nodiscard]] expected<std::unique_ptr<block_prefetch>> read_ahead(epoch_position from) const;

  data_set_ptr data_;
  epoch_reading how_;
  /// What ahead_ gives next.
  epoch_position next_;
  /// The last member: its threads end before anything else does.
  std::unique_ptr<block_prefetch> ahead_;
};

/// The micro-batches of one step of a training: `count` from a position on.
class epoch_step final : public micro_batch_source {
 public:
  epoch_step(std::shared_ptr<epoch_reader> reader, epoch_position from, std::uint64_t count)
      : reader_(std::move(reader)), position_(from), count_(count) {}

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> count() const override { return count_; }

 private:
  std::shared_ptr<epoch_reader> reader_;
  epoch_position position_;
  std::uint64_t count_;
  std::uint64_t taken_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace troupe
