#pragma once

#include <memory>
#include <optional>

#include "runtime/edge/nccl/nccl_lane.hpp"
#include "runtime/edge/nccl/nccl_link.hpp"

namespace troupe::nccl {

/// What both halves of an edge in the device's thread have: an end of the queue from or to the engine, an end of the
/// announcing edge, and a lane of NCCL.
template <class Queue, class Announcing>
class lane_half : public end_half {
 public:
  struct parts {
    std::shared_ptr<link> shared;
    std::shared_ptr<loss_box> losses;
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Announcing> announcing;
    std::shared_ptr<const nccl_tools> tools;
    std::shared_ptr<reaper> ends;
  };
  // What has not closed is silent, and rings no bell.
  ~lane_half() override { mine_.queue->abandon(); }

  void stop() noexcept final {
    mine_.shared->lost.store(true, std::memory_order_release);
    static_cast<void>(give_up());
  }

 protected:
  explicit lane_half(parts given) : mine_(std::move(given)) {}

  [[nodiscard]] bool is_abandoned() const noexcept { return mine_.shared->abandoned.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_closed() const noexcept { return mine_.shared->closed.load(std::memory_order_acquire); }
  state give_up() {
    mine_.announcing->abandon();
    retire(false);
    return state::over;
  }
  state lose(const error& why) {
    mine_.shared->lose(why);
    return give_up();
  }
  void retire(bool is_clean) {
    if (lane_) mine_.ends->end(lane_->retire(is_clean));
    lane_.reset();
  }

  parts mine_;
  std::unique_ptr<lane> lane_;
  std::optional<call_number> flushed_;
};

}  // namespace troupe::nccl
