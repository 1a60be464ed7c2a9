#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "messages/limits.hpp"
#include "runtime/edge/doorbell.hpp"

namespace troupe {

/// The queue of commands to an engine, from its actor and from its host. It is bounded, and keeps the order of each
/// sender. Threads: any may push, one pops. Commands are rare, and the engine looks for one at every step: pop() of an
/// empty queue is one load. All else takes a mutex, which is never held while anything waits or runs.
template <class Command>
class command_queue {
 public:
  /// Rings `bell` after each push. Not owned; outlives the queue.
  explicit command_queue(doorbell& bell, std::size_t capacity = limits::commands_queued_max)
      : bell_(bell), capacity_(capacity) {}
  command_queue(const command_queue&) = delete;
  command_queue& operator=(const command_queue&) = delete;

  /// False if the queue is full: the command is dropped, and the caller reports error_code::queue_full.
  [[nodiscard]] bool push(Command command) {
    {
      const std::lock_guard lock(mutex_);
      if (commands_.size() >= capacity_) return false;
      commands_.push_back(std::move(command));
      size_.store(commands_.size(), std::memory_order_release);
    }
    bell_.ring();
    return true;
  }

  /// Adds the command that ends the engine, behind all that are queued. It has a place of its own and is never refused.
  /// Only the first such command counts.
  void push_end(Command command) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(ends_, true)) return;
      commands_.push_back(std::move(command));
      size_.store(commands_.size(), std::memory_order_release);
    }
    bell_.ring();
  }

  /// The oldest command, or nothing.
  [[nodiscard]] std::optional<Command> pop() {
    if (empty()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    std::optional<Command> command(std::move(commands_.front()));
    commands_.pop_front();
    size_.store(commands_.size(), std::memory_order_release);
    return command;
  }

  /// Exact for the thread that pops, for all commands whose bell has rung; a hint for other threads.
  [[nodiscard]] bool empty() const noexcept { return size_.load(std::memory_order_acquire) == 0; }

 private:
  doorbell& bell_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::deque<Command> commands_;
  bool ends_ = false;
  std::atomic<std::size_t> size_{0};
};

}  // namespace troupe
