#include "runtime/edge/tcp/handshake_roles.hpp"

#include <utility>

#include "messages/try.hpp"
#include "runtime/edge/tcp/edge_errors.hpp"
#include "runtime/edge/tcp/edge_receiver.hpp"
#include "runtime/edge/tcp/edge_sender.hpp"
#include "runtime/edge/tcp/handshake.hpp"
#include "runtime/edge/tcp/peer_admission.hpp"
#include "runtime/edge/tcp/tcp_core.hpp"

namespace troupe {

expected<void> untrusted_peer::on_handshake(connection& from) {
  auto known = core_.find_name(from);
  if (known && core_.options().joins && !from.peer_node()) from.permit_payloads(limits::join_message_bytes_max);
  return known;
}

/// Asked for payloads within the limit alone.
std::shared_ptr<aligned_buffer> untrusted_peer::place_for(std::uint64_t bytes) {
  auto place = std::make_shared<aligned_buffer>();
  return place->reserve(bytes) ? place : nullptr;
}

expected<void> untrusted_peer::on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                                        std::shared_ptr<aligned_buffer>) {
  return said_ ? admit(from, head) : begin(from, head, payload);
}

/// Without a certificate a peer may only join, and with one it has no reason to.
expected<void> untrusted_peer::begin(connection& from, const frame& head, std::span<const std::byte> payload) {
  const auto& known = core_.options();
  const bool is_nameless = known.joins != nullptr && !from.peer_node();
  const bool joins = std::holds_alternative<join_frame>(head);
  if (is_nameless && !joins) return refuse_peer("handshake", "it has no certificate");
  if (joins && !is_nameless) return refuse_peer("handshake", "nodes cannot join here, or not twice");
  if (joins) return known.joins->admit(from, head, payload);
  if (!std::holds_alternative<link_frame>(head)) return challenge(head);
  if (known.links == nullptr) return refuse_peer("handshake", "there are no links here");
  return known.links->admit(from, head, payload);
}

expected<void> untrusted_peer::challenge(const frame& head) {
  const auto hello = TROUPE_TRY(as_hello(head));
  const auto claimed = TROUPE_TRY(core_.find(hello));
  const auto nonce = TROUPE_TRY(make_nonce());
  said_ = claimed;
  said_->listener = nonce;
  due_ = challenge_frame{nonce, prove(proof_of::listener, *said_)};
  return {};
}

expected<void> untrusted_peer::admit(connection& from, const frame& head) {
  const auto* told = std::get_if<proof_frame>(&head);
  if (told == nullptr || !same_proof(told->proof, prove(proof_of::caller, *said_))) {
    return refuse_peer(to_string(said_->key), "its hello is one of another connection");
  }
  auto link = TROUPE_TRY(core_.admit(said_->key, from.peer_node()));
  link->connect(from.weak_from_this());
  from.assume(std::make_shared<edge_receiver>(link, *core_.options().codec));
  if (link->faults) from.disturb(link->faults, disturbed_content::edge);
  return {};
}

expected<bool> untrusted_peer::next(outgoing_frame& out) {
  if (!due_) return false;
  out.begin(*std::exchange(due_, std::nullopt));
  return true;
}

void untrusted_peer::lost(const error& why, const std::string& peer) {
  core_.refuse(why, peer);
}

expected<void> caller::on_handshake(connection& from) {
  TROUPE_TRY(core_.find_name(from));
  return check_peer("handshake", from.peer_node(), link_->peer);
}

expected<bool> caller::next(outgoing_frame& out) {
  if (!said_) {
    const auto nonce = TROUPE_TRY(make_nonce());
    said_ = edge_transcript{link_->key, link_->slots, nonce, {}};
    due_ = make_hello(*said_);
  }
  if (!due_) return false;
  out.begin(*std::exchange(due_, std::nullopt));
  return true;
}

expected<void> caller::on_frame(connection& from, const frame& head, std::span<const std::byte>,
                                std::shared_ptr<aligned_buffer>) {
  return has_proven_ ? start(from, head) : answer(head);
}

expected<void> caller::answer(const frame& head) {
  const auto* told = std::get_if<challenge_frame>(&head);
  if (told == nullptr || !said_) return unexpected_frame("no challenge");
  said_->listener = told->nonce;
  if (!same_proof(told->proof, prove(proof_of::listener, *said_))) {
    return refuse_peer("handshake", "another program listens there: it does not know the secret of this run");
  }
  due_ = proof_frame{prove(proof_of::caller, *said_)};
  has_proven_ = true;
  return {};
}

expected<void> caller::start(connection& from, const frame& head) {
  const auto* welcome = std::get_if<welcome_frame>(&head);
  if (welcome == nullptr || welcome->slots != link_->slots) return unexpected_frame("no welcome to this edge");
  link_->connect(from.weak_from_this());
  from.assume(std::make_shared<edge_sender>(link_, *core_.options().codec, core_.has_payload_crc()));
  if (link_->faults) from.disturb(link_->faults, disturbed_content::link);
  on_outcome_({});
  if (link_->abandoned.load(std::memory_order_acquire)) from.drop();  // before there was a connection to drop
  return {};
}

void caller::lost(const error& why, const std::string& peer) {
  const std::string where = to_string(link_->key) + ", peer " + peer;
  if (said_ || why.code != error_code::peer_lost) {
    return on_outcome_(refuse_peer(where, "refused: " + why.cause));
  }
  on_outcome_(fail(error_code::peer_lost, where, why.cause, "Check that the peer's process runs"));
}

}  // namespace troupe
