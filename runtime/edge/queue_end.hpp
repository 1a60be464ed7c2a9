#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <troupe/error.hpp>

namespace troupe {

/// What an end of an edge, in the engine's thread, shares with the thread that moves its messages. Between these
/// threads is an inproc edge.
class queue_link {
 public:
  explicit queue_link(std::function<void(const error&)> told) : on_lost_(std::move(told)) {}
  queue_link(const queue_link&) = delete;
  queue_link& operator=(const queue_link&) = delete;

  /// No bell of the end is rung any more, and no loss is told, when this has returned.
  void detach() {
    const std::scoped_lock lock(guard_);
    detached.store(true, std::memory_order_release);
  }
  /// For the moving thread: `act` on its end of the queue, which may ring the engine's bell.
  template <class Act>
  void with_end(Act act) {
    const std::scoped_lock lock(guard_);
    if (!detached.load(std::memory_order_relaxed) || closed.load(std::memory_order_acquire)) act();
  }
  /// The end is silent from now on. Tells the loss the first time, unless the end is gone.
  void lose(const error& why) {
    const std::scoped_lock lock(guard_);
    if (lost.exchange(true, std::memory_order_acq_rel) || detached.load(std::memory_order_relaxed)) return;
    if (on_lost_) on_lost_(why);
  }

  /// By the end's owner: said so, without a word, and destroyed.
  std::atomic<bool> closed{false};
  std::atomic<bool> abandoned{false};
  std::atomic<bool> detached{false};
  /// By the moving thread.
  std::atomic<bool> lost{false};

 protected:
  ~queue_link() = default;
  std::mutex guard_;

 private:
  const std::function<void(const error&)> on_lost_;
};

/// The engine's end of the queue. It ends once, by one of two ways, and then the moving thread, a `Mover` with wake()
/// and has_stopped(), must know.
template <class Queue, class Link, class Mover>
class queue_end {
 public:
  queue_end(std::unique_ptr<Queue> mine, std::shared_ptr<Link> shared, std::shared_ptr<Mover> by)
      : queue(std::move(mine)), link(std::move(shared)), mover(std::move(by)) {}
  queue_end(const queue_end&) = delete;
  queue_end& operator=(const queue_end&) = delete;
  ~queue_end() {
    close();
    link->detach();
    wake();
  }

  void wake() const { mover->wake(link); }
  void close() {
    if (std::exchange(has_ended_, true)) return;
    queue->close();
    link->closed.store(true, std::memory_order_release);
    wake();
  }
  void abandon() {
    if (std::exchange(has_ended_, true)) return;
    queue->abandon();
    link->abandoned.store(true, std::memory_order_release);
    wake();
  }
  [[nodiscard]] bool is_silent() const noexcept {
    return link->lost.load(std::memory_order_acquire) || mover->has_stopped();
  }

  const std::unique_ptr<Queue> queue;
  const std::shared_ptr<Link> link;
  const std::shared_ptr<Mover> mover;

 private:
  bool has_ended_ = false;
};

}  // namespace troupe
