#include "runtime/edge/shm/slot_returns.hpp"

#include <utility>

namespace troupe::shm {
namespace {

constexpr std::uint64_t viewed = 1;
constexpr std::uint64_t unreleased = 2;
constexpr std::uint64_t held_on = 4;
constexpr std::uint64_t all_reasons = viewed | unreleased | held_on;
constexpr unsigned position_shift = 3;

}  // namespace

slot_returns::slot_returns(control_view shared, std::shared_ptr<doorbell> producer_bell)
    : shared_(std::move(shared)), producer_bell_(std::move(producer_bell)), words_(shared_.slots()) {}

void slot_returns::hold(std::uint32_t slot, std::uint64_t position) noexcept {
  words_[slot].store(position << position_shift | viewed | unreleased, std::memory_order_relaxed);
}

bool slot_returns::is_held(std::uint32_t slot) const noexcept {
  return (words_[slot].load(std::memory_order_relaxed) & all_reasons) != 0;
}

bool slot_returns::is_viewed(std::uint32_t slot) const noexcept {
  return (words_[slot].load(std::memory_order_relaxed) & viewed) != 0;
}

void slot_returns::release(std::uint32_t slot) noexcept {
  drop(slot, unreleased);
}

void slot_returns::view_ended(std::uint32_t slot) noexcept {
  drop(slot, viewed);
}

void slot_returns::hold_on(std::uint32_t slot) noexcept {
  words_[slot].fetch_or(held_on, std::memory_order_relaxed);
}

void slot_returns::let_go(std::uint32_t slot) noexcept {
  drop(slot, held_on);
}

// acq_rel: what the views read, they read before the slot is given back, whichever thread does that.
void slot_returns::drop(std::uint32_t slot, std::uint64_t reason) noexcept {
  const std::uint64_t before = words_[slot].fetch_and(~reason, std::memory_order_acq_rel);
  if ((before & all_reasons) == reason) give_back(slot, before >> position_shift);
}

// The slot's word first, the count second: a producer that counts a free slot finds it. seq_cst: after a look that
// found no credit its `sent` is read here, so that one of the releases to come sees just so many free slots as ring
// (proof: inproc_edge.cpp).
void slot_returns::give_back(std::uint32_t slot, std::uint64_t position) noexcept {
  if (muted_.load(std::memory_order_acquire)) return;
  control& words = shared_.words();
  shared_.freed(slot).store(position + 1, std::memory_order_release);
  const std::uint64_t released = words.released.fetch_add(1, std::memory_order_seq_cst) + 1;
  // The producer's line is not asked for where every credit rings.
  if (shared_.credits_per_ring() > 1) {
    const std::uint64_t in_use = words.sent.load(std::memory_order_seq_cst) - released;
    if (shared_.slots() - in_use != shared_.credits_per_ring()) return;
  }
  ring_producer();
}

void slot_returns::ring_producer() noexcept {
  if (producer_bell_ == nullptr || muted_.load(std::memory_order_acquire)) return;
  if (shared_.words().producer_closed.load(std::memory_order_acquire) == 0) producer_bell_->ring();
}

std::shared_ptr<const void> slot_lease::hold_on() const {
  returns_->hold_on(slot_);
  return {this, [returns = returns_, slot = slot_](const void*) { returns->let_go(slot); }};
}

}  // namespace troupe::shm
