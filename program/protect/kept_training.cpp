#include "program/protect/kept_training.hpp"

#include <utility>

#include "messages/limits.hpp"

namespace troupe {

void kept_training::add(std::shared_ptr<kept_batches> step) {
  if (how_.kind == protection_kind::memory) {
    is_whole_ = false;
    state_.reset();
    return;
  }
  bytes_ += step->bytes();
  since_.push_back(std::move(step));
}

bool kept_training::is_due() const noexcept {
  const std::uint64_t every = how_.kind == protection_kind::shadow ? 1 : how_.every;
  return !since_.empty() && (since_.size() >= every || bytes_ > limits::protected_batch_bytes_max);
}

void kept_training::put(state_ptr copy, std::size_t behind) {
  state_ = std::move(copy);
  is_whole_ = true;
  const auto end = since_.begin() + static_cast<std::ptrdiff_t>(behind);
  for (auto step = since_.begin(); step != end; ++step) bytes_ -= (*step)->bytes();
  since_.erase(since_.begin(), end);
}

}  // namespace troupe
