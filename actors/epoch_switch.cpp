#include "actors/epoch_switch.hpp"

#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {

std::uint32_t epoch_switch::pause() noexcept {
  TROUPE_CHECK(!pausing_, "one order to pause is under way at a time");
  pausing_ = true;
  return ++round_;
}

bool epoch_switch::paused(std::uint32_t round) noexcept {
  return round == round_ && std::exchange(pausing_, false);
}

epoch_number epoch_switch::begin(std::chrono::nanoseconds now) noexcept {
  begun_at_ = now;
  return ++epoch_;
}

bool epoch_switch::may_follow_a_loss(micro_batch_id mark) noexcept {
  losses_ = losses_ > 0 && mark == lost_at_ ? losses_ + 1 : 1;
  lost_at_ = mark;
  return losses_ < limits::deaths_without_progress_max;
}

}  // namespace troupe
