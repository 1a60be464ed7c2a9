#pragma once

#include <memory>
#include <optional>

#include "runtime/edge/nccl/nccl_lane.hpp"
#include "runtime/edge/nccl/nccl_link.hpp"

namespace troupe::nccl {

/// The producer's half: what the engine queued is announced and sent, in order; credits come back with the announcing
/// edge's. The hello keeps one slot of that edge for ever: all slots free means that the consumer has closed.
class sender final : public end_half {
 public:
  struct parts {
    std::shared_ptr<link> shared;
    std::shared_ptr<loss_box> losses;
    std::unique_ptr<edge_consumer> queue;
    std::unique_ptr<edge_producer> announcing;
    std::shared_ptr<const nccl_tools> tools;
    std::shared_ptr<reaper> ends;
  };
  explicit sender(parts given) : mine_(std::move(given)) {}
  // What has not closed is silent, and rings no bell.
  ~sender() override { mine_.queue->abandon(); }

  [[nodiscard]] state step(std::chrono::steady_clock::time_point now) override;
  [[nodiscard]] bool is_leaving() const noexcept override {
    return mine_.shared->is_closed.load(std::memory_order_acquire);
  }
  void stop() noexcept override;

 private:
  [[nodiscard]] expected<bool> advance(std::chrono::steady_clock::time_point now);
  [[nodiscard]] expected<void> greet(std::chrono::steady_clock::time_point now);
  /// Flush, message or close: the next that there is.
  [[nodiscard]] expected<bool> next();
  [[nodiscard]] expected<void> announce(activation message);
  [[nodiscard]] bool give_credit();
  [[nodiscard]] bool consumer_has_closed() const;
  [[nodiscard]] state leave(std::chrono::steady_clock::time_point now);
  void retire(bool is_clean);

  parts mine_;
  std::unique_ptr<lane> lane_;
  std::optional<call_number> flushed_;
  /// Announced; those of them that NCCL sends; and credits given back to the queue.
  std::uint64_t announced_ = 0;
  std::uint64_t sends_ = 0;
  std::uint64_t released_ = 0;
  bool has_greeted_ = false;
  bool has_closed_ = false;
};

}  // namespace troupe::nccl
