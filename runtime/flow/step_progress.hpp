#pragma once

#include <algorithm>
#include <cstdint>

#include <troupe/ids.hpp>
#include <troupe/limits.hpp>

namespace troupe {

/// How many micro-batches of a training step a stage may have live: forward computed, backward not yet. The edge into
/// the stage has at least as many slots, because a live micro-batch keeps its slot. Of more than
/// limits::pipe_buffers_max stages, the first ones wait for a slot instead of computing ahead.
constexpr std::uint32_t live_micro_batches_max(std::uint32_t stages, stage_index stage) noexcept {
  return std::min(stages - stage, limits::pipe_buffers_max);
}

enum class step_action : std::uint8_t {
  forward,   ///< of the next micro-batch of the call
  backward,  ///< of the oldest live micro-batch
  complete,  ///< nothing: all micro-batches of the call have passed both ways
};

/// The local rule by which a stage orders the passes of one training step (docs/decisions/0044). The next action
/// follows from three numbers alone, and the stage waits for the input of that action. So the order does not depend on
/// which input happens to come first, and it is that of train_schedule.
class step_progress {
 public:
  /// `live_max`: live_micro_batches_max().
  explicit constexpr step_progress(std::uint32_t live_max) noexcept : live_max_(live_max) {}

  [[nodiscard]] constexpr step_action next() const noexcept {
    if (!has_ended_ && live() < live_max_) return step_action::forward;
    return live() > 0 ? step_action::backward : step_action::complete;
  }

  constexpr void forward_begun() noexcept { ++forwards_; }
  constexpr void backward_begun() noexcept { ++backwards_; }
  /// The call has no more micro-batches at this stage. The stage learns it only after the last forward, and may have
  /// none at all.
  constexpr void end() noexcept { has_ended_ = true; }
  constexpr void restart() noexcept { *this = step_progress(live_max_); }

  [[nodiscard]] constexpr std::uint64_t forwards() const noexcept { return forwards_; }
  [[nodiscard]] constexpr std::uint64_t backwards() const noexcept { return backwards_; }
  [[nodiscard]] constexpr std::uint64_t live() const noexcept { return forwards_ - backwards_; }
  [[nodiscard]] constexpr bool has_ended() const noexcept { return has_ended_; }
  [[nodiscard]] constexpr std::uint32_t live_max() const noexcept { return live_max_; }

 private:
  std::uint32_t live_max_;
  std::uint64_t forwards_ = 0;
  std::uint64_t backwards_ = 0;
  bool has_ended_ = false;
};

}  // namespace troupe
