#include "runtime/flow/score_batcher.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe {

bool score_batcher::fits(const score& next) const noexcept {
  if (scores_.empty()) return true;
  return scores_.size() < limits::scores_per_message_max &&
         words_ + next.words.size() <= limits::score_words_per_message;
}

void score_batcher::add(score next, std::chrono::nanoseconds now) {
  TROUPE_CHECK(fits(next), "a full message is taken before more is added");
  if (scores_.empty()) oldest_ = now;
  words_ += next.words.size();
  scores_.push_back(std::move(next));
}

bool score_batcher::due(std::chrono::nanoseconds now) const noexcept {
  if (scores_.empty()) return false;
  return scores_.size() >= limits::scores_per_message_max || words_ >= limits::score_words_per_message ||
         now - oldest_ >= delay_;
}

std::chrono::nanoseconds score_batcher::time_left(std::chrono::nanoseconds now) const noexcept {
  if (scores_.empty()) return limits::park_max;
  return std::clamp<std::chrono::nanoseconds>(oldest_ + delay_ - now, std::chrono::nanoseconds{0}, limits::park_max);
}

std::vector<score> score_batcher::take() {
  words_ = 0;
  delay_ = std::min(2 * delay_, limits::score_delay_max);
  return std::exchange(scores_, {});
}

void score_batcher::drop(call_number call) {
  std::erase_if(scores_, [&](const score& each) {
    if (each.id.call != call) return false;
    words_ -= each.words.size();
    return true;
  });
}

}  // namespace troupe
