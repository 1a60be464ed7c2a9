#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/edge/doorbell.hpp"
#include "runtime/edge/shm/shm_control.hpp"

namespace troupe::shm {

/// How a received slot comes back: by release(), by the end of its last view, and by let_go() if it was held on to,
/// whichever is last. One atomic word per slot, in the consumer's own memory, decides which that is; views may end in
/// any thread.
class slot_returns {
 public:
  slot_returns(control_view shared, std::shared_ptr<doorbell> producer_bell);

  [[nodiscard]] const control_view& shared() const noexcept { return shared_; }

  // --- the consumer's thread ---

  /// The message at `position` was received in `slot`. One view of the message begins, to end with view_ended().
  void hold(std::uint32_t slot, std::uint64_t position) noexcept;
  [[nodiscard]] bool is_held(std::uint32_t slot) const noexcept;
  [[nodiscard]] bool is_viewed(std::uint32_t slot) const noexcept;
  void release(std::uint32_t slot) noexcept;
  /// No slot comes back any more, and no bell rings.
  void mute() noexcept { muted_.store(true, std::memory_order_release); }
  void ring_producer() noexcept;

  // --- any thread ---

  void view_ended(std::uint32_t slot) noexcept;
  /// While a view lives: one more reason, which is no view.
  void hold_on(std::uint32_t slot) noexcept;
  void let_go(std::uint32_t slot) noexcept;

 private:
  void drop(std::uint32_t slot, std::uint64_t reason) noexcept;
  void give_back(std::uint32_t slot, std::uint64_t position) noexcept;

  const control_view shared_;
  const std::shared_ptr<doorbell> producer_bell_;
  /// (position << 3) | reasons why the slot is in use; no reason: it is the producer's.
  std::vector<std::atomic<std::uint64_t>> words_;
  std::atomic<bool> muted_{false};
};

/// What payloads that view a slot own. The pages stay mapped while it lives.
class slot_lease {
 public:
  slot_lease(std::shared_ptr<slot_returns> returns, std::uint32_t slot, std::shared_ptr<const memory_mapping> pages)
      : returns_(std::move(returns)), pages_(std::move(pages)), slot_(slot) {}
  slot_lease(const slot_lease&) = delete;
  slot_lease& operator=(const slot_lease&) = delete;
  ~slot_lease() { returns_->view_ended(slot_); }
  /// The slot is not viewed when this lease ends, but comes back only after the end of what this returns: once at most
  /// at a time.
  [[nodiscard]] std::shared_ptr<const void> hold_on() const;

 private:
  const std::shared_ptr<slot_returns> returns_;
  const std::shared_ptr<const memory_mapping> pages_;
  const std::uint32_t slot_;
};

}  // namespace troupe::shm
