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
#include <troupe/error.hpp>

namespace troupe::nccl {

/// What an end of an edge, in the engine's thread, and its half in the device's thread share. Between them is an inproc
/// edge; the device's thread joins it with the announcing edge and the communicator.
class link {
 public:
  link(std::string named, std::function<void(const error&)> told) : name(std::move(named)), on_lost_(std::move(told)) {}
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  /// No bell of the end is rung any more, and no loss is told, when this has returned.
  void detach() {
    const std::scoped_lock lock(guard_);
    is_detached_ = true;
    is_gone.store(true, std::memory_order_release);
  }
  /// For the device's thread: `act` on its end of the queue, which may ring the engine's bell.
  template <class Act>
  void with_end(Act act) {
    const std::scoped_lock lock(guard_);
    if (!is_detached_ || is_closed.load(std::memory_order_acquire)) act();
  }
  /// The end is silent from now on. Tells it the first time, unless the end is gone.
  void lose(const error& why) {
    const std::scoped_lock lock(guard_);
    if (is_lost.exchange(true, std::memory_order_acq_rel) || is_detached_ || !on_lost_) return;
    on_lost_({why.code, name, why.cause, why.fix});
  }

  /// "nccl edge 3, epoch 2".
  const std::string name;
  /// By the end's owner: said so, or without a word.
  std::atomic<bool> is_closed{false};
  std::atomic<bool> is_abandoned{false};
  std::atomic<bool> is_gone{false};
  std::atomic<std::uint64_t> released{0};
  /// By the device's thread.
  std::atomic<bool> is_lost{false};

 private:
  std::mutex guard_;
  bool is_detached_ = false;
  const std::function<void(const error&)> on_lost_;
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
