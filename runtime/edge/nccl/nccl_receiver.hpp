#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/edge/nccl/announcement.hpp"
#include "runtime/edge/nccl/nccl_half.hpp"

namespace troupe::nccl {

/// The consumer's half: an announced message is checked, gets memory, and is received; then it is queued for the
/// engine, whose releases go back as credits of the announcing edge.
class receiver final : public lane_half<edge_producer, edge_consumer> {
 public:
  explicit receiver(parts given) : lane_half(std::move(given)) {}

  [[nodiscard]] state step(std::chrono::steady_clock::time_point now) override;
  [[nodiscard]] bool is_leaving() const noexcept override { return !has_closed_ && is_closed(); }

 private:
  struct arrival {
    activation message;
    /// Null without tensors.
    std::shared_ptr<const announcement> announced;
    std::vector<std::byte*> places;
    std::shared_ptr<const void> owner;
    std::optional<call_number> flushed_after = std::nullopt;
  };

  [[nodiscard]] expected<bool> advance(std::chrono::steady_clock::time_point now);
  [[nodiscard]] expected<void> take(activation message, std::chrono::steady_clock::time_point now);
  [[nodiscard]] expected<void> expect(arrival& next);
  [[nodiscard]] expected<bool> queue_up();
  [[nodiscard]] expected<void> hand_over(arrival& oldest);
  [[nodiscard]] bool pass_flush();
  [[nodiscard]] bool give_credit();
  [[nodiscard]] state leave();

  std::deque<arrival> arriving_;
  /// Receives that were begun, and those whose message was queued.
  std::uint64_t begun_ = 0;
  std::uint64_t queued_ = 0;
  std::uint64_t told_ = 0;
  bool is_exhausted_ = false;
  bool has_closed_ = false;
  bool has_dropped_ = false;
};

}  // namespace troupe::nccl
