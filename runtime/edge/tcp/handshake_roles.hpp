#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/edge/tcp/connection.hpp"
#include "runtime/edge/tcp/edge_link.hpp"

namespace troupe {

class tcp_core;

/// A peer that has connected. For an edge it says hello, is challenged, proves to know the secret now, and becomes its
/// peer. With another first frame it is handed to those who know it; or it is refused.
class untrusted_peer final : public connection_role {
 public:
  explicit untrusted_peer(tcp_core& core) : core_(core) {}
  expected<void> on_handshake(connection& from) override;
  std::shared_ptr<aligned_buffer> place_for(std::uint64_t bytes) override;
  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer> owner) override;
  expected<bool> next(outgoing_frame& out) override;
  [[nodiscard]] bool is_untrusted() const override { return !said_; }
  void lost(const error& why, const std::string& peer) override;

 private:
  expected<void> begin(connection& from, const frame& head, std::span<const std::byte> payload);
  expected<void> challenge(const frame& head);
  expected<void> admit(connection& from, const frame& head);

  tcp_core& core_;
  /// Since a right hello.
  std::optional<edge_transcript> said_;
  std::optional<frame> due_;
};

/// The side that connects: wants the listener to be of the right node, says hello, wants the listener to prove to know
/// the secret, proves it, waits for the welcome.
class caller final : public connection_role {
 public:
  /// `on_outcome` is called once, on the I/O thread: admitted or not.
  caller(tcp_core& core, std::shared_ptr<sender_link> link, std::function<void(expected<void>)> on_outcome)
      : core_(core), link_(std::move(link)), on_outcome_(std::move(on_outcome)) {}
  expected<void> on_handshake(connection& from) override;
  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer> owner) override;
  expected<bool> next(outgoing_frame& out) override;
  void lost(const error& why, const std::string& peer) override;

 private:
  expected<void> answer(const frame& head);
  expected<void> start(connection& from, const frame& head);

  tcp_core& core_;
  const std::shared_ptr<sender_link> link_;
  const std::function<void(expected<void>)> on_outcome_;
  std::optional<edge_transcript> said_;
  std::optional<frame> due_;
  bool has_proven_ = false;
};

}  // namespace troupe
