#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/edge/edge.hpp"
#include "runtime/edge/queue_end.hpp"
#include <troupe/error.hpp>

namespace troupe::nccl {

/// What an end of an edge shares with its half in the device's thread, which joins the queue with the announcing edge
/// and the communicator.
struct link final : queue_link {
  /// `name`: "nccl edge 3, epoch 2", the place of a loss.
  link(const std::string& name, const std::function<void(const error&)>& told)
      : queue_link(!told ? told : [=](const error& why) {
          told({why.code, name, why.cause, why.fix});
        }) {}

  std::atomic<std::uint64_t> released{0};
};

/// The announcing edge has been lost: any thread says so, the device's thread looks.
class loss_box {
 public:
  void put(const error& why) {
    const std::scoped_lock lock(guard_);
    if (!why_) why_ = std::make_unique<error>(why);
    is_full_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool is_full() const noexcept { return is_full_.load(std::memory_order_acquire); }
  [[nodiscard]] error get() const {
    const std::scoped_lock lock(guard_);
    return *why_;
  }

 private:
  mutable std::mutex guard_;
  std::unique_ptr<error> why_;
  std::atomic<bool> is_full_{false};
};

/// The device thread's half of one end. Threads: that of the device.
class end_half {
 public:
  enum class state : std::uint8_t {
    quiet,  ///< nothing has moved, and only a ring can change that
    moved,
    waiting,  ///< NCCL or the device has something to do, and does not ring
    over,     ///< to be destroyed
  };
  end_half() = default;
  end_half(const end_half&) = delete;
  end_half& operator=(const end_half&) = delete;
  virtual ~end_half() = default;
  [[nodiscard]] virtual state step(std::chrono::steady_clock::time_point now) = 0;
  /// The engine's end has closed, and what it sent may still be on its way.
  [[nodiscard]] virtual bool is_leaving() const noexcept = 0;
  /// The thread ends.
  virtual void stop() noexcept = 0;
};

}  // namespace troupe::nccl
