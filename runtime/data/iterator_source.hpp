#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/ledger/micro_batch_source.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// Takes at most `count` micro-batches from an iterator, whose tensors are copied unless nothing else can write to them
/// (taken()); `is_constant`: its owner promises that nothing does. Nothing is pulled ahead of the call, nor beyond
/// `count`.
class iterator_source final : public micro_batch_source {
 public:
  iterator_source(data_iterator iterator, batch_function transform, std::uint64_t count, bool is_constant = false);

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> count() const override { return count_; }
  /// The iterator ended before `count`. From any thread.
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_.load(std::memory_order_relaxed); }

 private:
  data_iterator iterator_;
  batch_function transform_;
  std::uint64_t count_;
  bool is_constant_;
  std::uint64_t taken_ = 0;
  std::uint64_t samples_ = 0;
  std::atomic<bool> exhausted_{false};
};

}  // namespace troupe
