#include <utility>

#include <troupe/runtime/edge/tcp/edge_errors.hpp>
#include <troupe/runtime/edge/tcp/edge_receiver.hpp>
#include <troupe/runtime/edge/tcp/edge_sender.hpp>
#include <troupe/runtime/edge/tcp/handshake.hpp>
#include <troupe/runtime/edge/tcp/handshake_roles.hpp>
#include <troupe/runtime/edge/tcp/tcp_core.hpp>

namespace troupe {

expected<void> stranger::on_frame(connection& from, const frame& head, std::span<const std::byte>,
                                  std::shared_ptr<aligned_buffer>) {
  const auto hello = as_hello(head);
  if (!hello) return tl::make_unexpected(hello.error());
  auto link = core_.admit(*hello);
  if (!link) return tl::make_unexpected(std::move(link).error());
  (*link)->connected = from.weak_from_this();
  from.assume(std::make_shared<edge_receiver>(*link, *core_.options().codec));
  return {};
}

void stranger::lost(const error& why, const std::string& peer) {
  core_.refuse(why, peer);
}

expected<bool> caller::next(outgoing& out) {
  if (std::exchange(said_hello_, true)) return false;
  out = {encode_head(hello_frame{link_->key, link_->slots}), {}};
  return true;
}

expected<void> caller::on_frame(connection& from, const frame& head, std::span<const std::byte>,
                                std::shared_ptr<aligned_buffer>) {
  const auto* welcome = std::get_if<welcome_frame>(&head);
  if (welcome == nullptr || welcome->slots != link_->slots) return unexpected_frame("no welcome to this edge");
  link_->connected = from.weak_from_this();
  from.assume(std::make_shared<edge_sender>(link_, *core_.options().codec, core_.has_payload_crc()));
  on_outcome_({});
  if (link_->vanished.load(std::memory_order_acquire)) from.drop();  // before there was a connection to drop
  return {};
}

void caller::lost(const error& why, const std::string& peer) {
  const std::string where = to_string(link_->key) + ", peer " + peer;
  if (said_hello_ || why.code != error_code::peer_lost) {
    return on_outcome_(refuse_peer(where, "refused: " + why.cause));
  }
  on_outcome_(fail(error_code::peer_lost, where, why.cause, "Check that the peer's process runs"));
}

}  // namespace troupe
