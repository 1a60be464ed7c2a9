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
#include "runtime/edge/queue_end.hpp"
#include "runtime/edge/tcp/edge_key.hpp"
#include <troupe/error.hpp>

namespace troupe {

class connection;

/// What an end and the I/O thread share. The end's own half of the contract (slots, order, flushes, bells) is an inproc
/// edge between the engine's thread and the I/O thread, `queue` being the latter's end; the wire joins two of them.
struct edge_link : queue_link {
  edge_link(const edge_key& named, std::uint32_t granted, std::optional<std::string> from,
            std::function<void(const error&)> told)
      : queue_link(std::move(told)), key(named), slots(granted), peer(std::move(from)) {}
  virtual ~edge_link() = default;

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

 private:
  std::weak_ptr<connection> connected_;
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
