#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "program/protect/kept_batches.hpp"
#include "program/run/trained_state.hpp"
#include <troupe/training.hpp>

namespace troupe {

/// From where a training can begin again when states are lost: a copy of all of them, and the batches of the steps
/// since. Threads: one at a time.
class kept_training {
 public:
  using state_ptr = std::shared_ptr<const training_snapshot>;

  explicit kept_training(training_protection how) : how_(how) {}

  /// A step was decided, with these batches.
  void add(std::shared_ptr<kept_batches> step);
  /// It is time for a copy.
  [[nodiscard]] bool is_due() const noexcept;
  /// A copy behind all steps that were added, or what the training begins with; null: fresh weights.
  void put(state_ptr copy) { put(std::move(copy), since_.size()); }
  /// A copy behind the first so many of since().
  void put(state_ptr copy, std::size_t behind);

  /// The newest copy; null: fresh weights.
  [[nodiscard]] const state_ptr& state() const noexcept { return state_; }
  /// Those behind the copy.
  [[nodiscard]] const std::vector<std::shared_ptr<kept_batches>>& since() const noexcept { return since_; }
  /// The steps of since() lead to where the training is. Without protection that ends with the first step.
  [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }

 private:
  const training_protection how_;
  state_ptr state_;
  std::vector<std::shared_ptr<kept_batches>> since_;
  std::uint64_t bytes_ = 0;
  bool is_whole_ = true;
};

}  // namespace troupe
