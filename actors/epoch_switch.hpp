#pragma once

#include <chrono>
#include <cstdint>

#include <troupe/ids.hpp>

namespace troupe {

/// How a run changes from one epoch to the next, as the director knows it. This class sends no messages.
///
///   wired --pause()--> pausing --paused()--> (new edges are made) --begin()--> wired, in the new epoch
///   pausing --give_up()--> wired, in the old epoch
///
/// The loader pauses first, so that the micro-batch from which it sends everything again stays the same while the edges
/// are made. Threads: one.
class epoch_switch {
 public:
  [[nodiscard]] epoch_number epoch() const noexcept { return epoch_; }
  [[nodiscard]] bool pausing() const noexcept { return pausing_; }

  /// Begins the change. Returns the number of the order to pause, which the caller sends to the loader.
  [[nodiscard]] std::uint32_t pause() noexcept;
  /// The loader has answered the order `round`. False for the answer to an earlier order, and for a second answer.
  [[nodiscard]] bool paused(std::uint32_t round) noexcept;
  /// The loader's actor has died, and the order or its answer may be lost with it: the change may begin again.
  void give_up() noexcept { pausing_ = false; }
  /// Begins a new epoch, whose edges are made now, and returns its number.
  epoch_number begin(std::chrono::nanoseconds now) noexcept;
  /// Whether something was observed before the present epoch began, so that it says nothing about this epoch.
  [[nodiscard]] bool is_older_than_epoch(std::chrono::nanoseconds seen) const noexcept { return seen < begun_at_; }

  /// An edge, or work on an edge, was lost although every stage lives. `mark` is the low-water mark. False: that
  /// happened limits::deaths_without_progress_max times in a row at this mark, so that new edges would not help.
  [[nodiscard]] bool may_follow_a_loss(micro_batch_id mark) noexcept;

 private:
  epoch_number epoch_ = 0;
  bool pausing_ = false;
  std::uint32_t round_ = 0;
  std::chrono::nanoseconds begun_at_{0};
  /// The number of losses in a row without progress, and the low-water mark at the last of them.
  std::uint32_t losses_ = 0;
  micro_batch_id lost_at_;
};

}  // namespace troupe
