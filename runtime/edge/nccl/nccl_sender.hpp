#pragma once

#include <memory>
#include <optional>

#include "runtime/edge/nccl/nccl_half.hpp"

namespace troupe::nccl {

/// The producer's half: what the engine queued is announced and sent, in order; credits come back with the announcing
/// edge's. The hello keeps one slot of that edge for ever: all slots free means that the consumer has closed.
class sender final : public lane_half<edge_consumer, edge_producer> {
 public:
  explicit sender(parts given) : lane_half(std::move(given)) {}

  [[nodiscard]] state step(std::chrono::steady_clock::time_point now) override;
  [[nodiscard]] bool is_leaving() const noexcept override { return is_closed(); }

 private:
  [[nodiscard]] expected<bool> advance(std::chrono::steady_clock::time_point now);
  [[nodiscard]] expected<void> greet(std::chrono::steady_clock::time_point now);
  /// Flush, message or close: the next that there is.
  [[nodiscard]] expected<bool> next();
  [[nodiscard]] expected<void> announce(activation message);
  [[nodiscard]] bool give_credit();
  [[nodiscard]] bool consumer_has_closed() const;
  [[nodiscard]] state leave(std::chrono::steady_clock::time_point now);

  /// Announced; those of them that NCCL sends; and credits given back to the queue.
  std::uint64_t announced_ = 0;
  std::uint64_t sends_ = 0;
  std::uint64_t released_ = 0;
  bool has_greeted_ = false;
  bool has_closed_ = false;
};

}  // namespace troupe::nccl
