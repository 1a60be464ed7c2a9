#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/edge/arrival_faults.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/edge/tcp/edge_key.hpp"
#include <troupe/error.hpp>

namespace troupe {

class connection;

/// What an end and the I/O thread share. The end's own half of the contract (slots, order, flushes, bells) is an inproc
/// edge between the engine's thread and the I/O thread, `queue` being the latter's end; the wire joins two of them.
struct edge_link {
  edge_link(const edge_key& named, std::uint32_t granted, std::optional<std::string> from,
            std::function<void(const error&)> told)
      : key(named), slots(granted), peer(std::move(from)), on_lost_(std::move(told)) {}

  edge_link(const edge_link&) = delete;
  edge_link& operator=(const edge_link&) = delete;
  virtual ~edge_link() = default;

  /// No bell of the end is rung any more, and no loss is told, when this has returned.
  void detach() {
    const std::scoped_lock lock(guard_);
    detached_ = true;
  }
  /// For the I/O thread: `act` on the queue, which may ring the end's bell.
  template <class Act>
  void with_end(Act act) {
    const std::scoped_lock lock(guard_);
    if (!detached_ || closed.load(std::memory_order_acquire)) act();
  }
  /// The end is silent from now on. Tells the loss the first time, unless the end is gone.
  void lose(const error& why) {
    const std::scoped_lock lock(guard_);
    if (!lost.exchange(true, std::memory_order_acq_rel) && !detached_ && on_lost_) on_lost_(why);
  }

  /// By the I/O thread, which gives each link one connection.
  void connect(std::weak_ptr<connection> by) {
    const std::scoped_lock lock(guard_);
    connected_ = std::move(by);
  }
  /// Null before that, and after the connection's end.
  [[nodiscard]] std::shared_ptr<connection> connected() {
    const std::scoped_lock lock(guard_);
    return connected_.lock();
  }

  const edge_key key;
  const std::uint32_t slots;
  /// tcp_edge_options::peer.
  const std::optional<std::string> peer;
  /// tcp_edge_options::faults. Before the I/O thread knows this.
  std::shared_ptr<arrival_faults> faults;
  /// The I/O thread has been asked to look here and has not begun. It clears this before it looks, so no news is lost.
  std::atomic<bool> scheduled{false};
  /// By the end's owner: said so, or without a word.
  std::atomic<bool> closed{false};
  std::atomic<bool> abandoned{false};
  /// By the I/O thread.
  std::atomic<bool> lost{false};

 private:
  std::mutex guard_;
  std::weak_ptr<connection> connected_;
  bool detached_ = false;
  const std::function<void(const error&)> on_lost_;
};

struct sender_link final : edge_link {
  using edge_link::edge_link;
  // The bell may be gone by now: a queue that abandons rings none.
  ~sender_link() override {
    if (queue) queue->abandon();
  }

  std::unique_ptr<edge_consumer> queue;
  std::atomic<std::uint64_t> sent{0};
};

struct receiver_link final : edge_link {
  using edge_link::edge_link;
  ~receiver_link() override {
    if (queue) queue->abandon();
  }

  std::unique_ptr<edge_producer> queue;
  std::atomic<std::uint64_t> released{0};
  /// tcp_edge_options::arrived_bytes.
  std::shared_ptr<std::atomic<std::uint64_t>> arrived_bytes;
};

}  // namespace troupe
