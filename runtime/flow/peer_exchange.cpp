#include "runtime/flow/peer_exchange.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe {

peer_exchange::peer_exchange(stage_address own, std::uint32_t replicas)
    : own_(own), sums_(replicas > 1 ? replicas : 0) {}

void peer_exchange::rewire(std::vector<engine_wiring::peer> peers) {
  end();
  for (peer& each : peers_) {
    // A slot is released before its edge is abandoned.
    if (std::exchange(each.head, std::nullopt)) each.edges.from->release();
    each.edges.to->abandon();
    each.edges.from->abandon();
  }
  peers_.clear();
  std::ranges::sort(peers, {}, &engine_wiring::peer::address);
  std::size_t ties = 0;
  for (engine_wiring::peer& each : peers) {
    TROUPE_CHECK(each.address != own_, "a peer is another one");
    const bool is_tied = each.address.stage != own_.stage;
    TROUPE_CHECK(is_tied || each.address.replica < sums_.size(), "a stage has so many replicas");
    const std::size_t position = is_tied ? ties++ : each.address.replica;
    peers_.push_back({.edges = std::move(each), .position = position, .is_tied = is_tied});
  }
  tied_.assign(ties, nullptr);
  const std::size_t replicas = std::max<std::size_t>(sums_.size(), 1);
  TROUPE_CHECK(peers_.size() - ties + 1 == replicas && ties % replicas == 0, "every replica has edges to all others");
}

void peer_exchange::begin(call_number call, payload_ptr own_sum, payload_ptr tied) {
  end();
  call_ = call;
  missing_ = 2 * peers_.size();
  if (!sums_.empty()) sums_[own_.replica] = std::move(own_sum);
  own_tied_ = std::move(tied);
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
  activation message{.id = {call_, 0}, .samples = {}, .tensors = nullptr, .labels = nullptr};
  message.tensors = to.is_tied ? own_tied_ : sums_[own_.replica];
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
  (from.is_tied ? tied_ : sums_)[from.position] = std::move(from.head->tensors);
  from.head.reset();
  return true;
}

void peer_exchange::end() noexcept {
  for (payload_ptr& each : sums_) each = nullptr;
  for (payload_ptr& each : tied_) each = nullptr;
  own_tied_ = nullptr;
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
