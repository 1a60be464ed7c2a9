#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/data/data_set.hpp"
#include "runtime/engine/micro_batch_source.hpp"

namespace troupe {

/// One micro-batch of a user's own data: inputs, and labels where a loss is wanted. The samples are dimension 0 of all
/// tensors; their number may differ from one micro-batch to the next.
using batch = sample_block;

/// A user's iterator: the next micro-batch, or nothing at the end. Called from the loader's thread, only while a call
/// that was given it loads. May throw: the call then fails with E0604 and names the micro-batch.
using data_iterator = std::function<std::optional<batch>()>;
/// Applied to each batch of an iterator before it is sent (DeepSpeed's set_batch_fn).
using batch_function = std::function<batch(batch)>;

/// Takes at most `count` micro-batches from an iterator. Nothing is pulled ahead of the call, nor beyond `count`.
class iterator_source final : public micro_batch_source {
 public:
  iterator_source(data_iterator iterator, batch_function transform, std::uint64_t count);

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> count() const override { return count_; }
  /// The iterator ended before `count`. From any thread.
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_.load(std::memory_order_relaxed); }

 private:
  data_iterator iterator_;
  batch_function transform_;
  std::uint64_t count_;
  std::uint64_t taken_ = 0;
  std::uint64_t samples_ = 0;
  std::atomic<bool> exhausted_{false};
};

}  // namespace troupe
