#pragma once

#include <chrono>
#include <cstdint>

#include <troupe/ids.hpp>

namespace troupe {

/// How a run changes from one epoch to the next, as the director knows it. No actor is spoken to here.
///
///   wired --pause()--> pausing --paused()--> (new edges are made) --begin()--> wired, in a new epoch
///   pausing --give_up()--> wired, in the old one
///
/// Loading pauses first, so that the mark from which everything is sent again cannot rise any more. Threads: one.
class epoch_switch {
 public:
  [[nodiscard]] epoch_number epoch() const noexcept { return epoch_; }
  [[nodiscard]] bool pausing() const noexcept { return pausing_; }

  /// The loader is to be told to pause; the number of the order.
  [[nodiscard]] std::uint32_t pause() noexcept;
  /// False for the answer to an earlier order. True once for each order.
  [[nodiscard]] bool paused(std::uint32_t round) noexcept;
  /// The order, or its answer, may have died with the loader's actor.
  void give_up() noexcept { pausing_ = false; }
  /// The number of the new epoch, whose edges are to be made.
  epoch_number begin(std::chrono::nanoseconds now) noexcept;
  /// An observation from before the present epoch says nothing about this epoch.
  [[nodiscard]] bool is_older_than_epoch(std::chrono::nanoseconds seen) const noexcept { return seen < begun_at_; }

  /// Edges, or work on them, were lost although every stage lives. False: as often in a row as
  /// limits::deaths_without_progress_max while the low-water mark stood still, and there is no point in new ones.
  [[nodiscard]] bool may_follow_a_loss(micro_batch_id mark) noexcept;

 private:
  epoch_number epoch_ = 0;
  bool pausing_ = false;
  std::uint32_t round_ = 0;
  std::chrono::nanoseconds begun_at_{0};
  /// In a row without progress, and the mark at the last of them.
  std::uint32_t losses_ = 0;
  micro_batch_id lost_at_;
};

}  // namespace troupe
