#include "runtime/flow/peer_exchange.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe {

peer_exchange::peer_exchange(replica_index own, std::uint32_t replicas)
    : own_(own), sums_(replicas > 1 ? replicas : 0) {}

void peer_exchange::rewire(std::vector<engine_wiring::peer> peers) {
  TROUPE_CHECK(peers.size() + 1 == std::max<std::size_t>(sums_.size(), 1), "every replica has edges to all others");
  end();
  for (peer& each : peers_) {
    // A slot is released before its edge is abandoned.
    if (std::exchange(each.head, std::nullopt)) each.edges.from->release();
    each.edges.to->abandon();
    each.edges.from->abandon();
  }
  peers_.clear();
  for (engine_wiring::peer& each : peers) {
    TROUPE_CHECK(each.replica < sums_.size() && each.replica != own_, "a peer is another replica of the stage");
    peers_.push_back({.edges = std::move(each), .head = std::nullopt});
  }
}

void peer_exchange::begin(call_number call, payload_ptr own_sum) {
  end();
  call_ = call;
  missing_ = 2 * peers_.size();
  if (!sums_.empty()) sums_[own_] = std::move(own_sum);
}

bool peer_exchange::move() {
  bool has_moved = false;
  for (peer& each : peers_) {
    if (!each.is_sent && send(each)) {
      each.is_sent = has_moved = true;
      --missing_;
    }
    if (!each.is_here && take(each)) {
      each.is_here = has_moved = true;
      --missing_;
    }
  }
  return has_moved;
}

bool peer_exchange::send(peer& to) {
  if (!to.edges.to->has_credit()) return false;
  activation message{.id = {call_, 0}, .samples = {}, .tensors = sums_[own_], .labels = nullptr};
  if (message.tensors == nullptr) message.rows = no_rows_;
  // A closed edge counts as sent: a stop has begun, and is on its way to this engine.
  return to.edges.to->try_send(message) != send_status::no_credit;
}

bool peer_exchange::take(peer& from) {
  for (;;) {
    if (!from.head) from.head = from.edges.from->try_receive();
    if (!from.head || from.head->id.call > call_) return false;
    if (from.head->id.call == call_) break;
    from.head.reset();  // of a call that was cancelled or decided before this one
    from.edges.from->release();
  }
  sums_[from.edges.replica] = std::move(from.head->tensors);
  from.head.reset();
  return true;
}

void peer_exchange::end() noexcept {
  for (payload_ptr& each : sums_) each = nullptr;
  for (peer& each : peers_) {
    if (std::exchange(each.is_here, false)) each.edges.from->release();
    each.is_sent = false;
  }
  missing_ = 0;
}

void peer_exchange::close() noexcept {
  end();
  for (peer& each : peers_) {
    if (std::exchange(each.head, std::nullopt)) each.edges.from->release();
    each.edges.from->close();
    each.edges.to->close();
  }
}

}  // namespace troupe
