#pragma once

#include <functional>
#include <memory>

#include <troupe/runtime/edge/tcp/connection.hpp>
#include <troupe/runtime/edge/tcp/edge_link.hpp>

namespace troupe {

class tcp_core;

/// Somebody who connected: says hello, and becomes the peer of an edge or is refused.
class stranger final : public connection_role {
 public:
  explicit stranger(tcp_core& core) : core_(core) {}
  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer> owner) override;
  expected<bool> next(outgoing&) override { return false; }
  void lost(const error& why, const std::string& peer) override;

 private:
  tcp_core& core_;
};

/// Who connects: says hello and waits for the welcome.
class caller final : public connection_role {
 public:
  /// `on_outcome` is called once, on the I/O thread: admitted or not.
  caller(tcp_core& core, std::shared_ptr<sender_link> link, std::function<void(expected<void>)> on_outcome)
      : core_(core), link_(std::move(link)), on_outcome_(std::move(on_outcome)) {}
  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer> owner) override;
  expected<bool> next(outgoing& out) override;
  void lost(const error& why, const std::string& peer) override;

 private:
  tcp_core& core_;
  const std::shared_ptr<sender_link> link_;
  const std::function<void(expected<void>)> on_outcome_;
  bool said_hello_ = false;
};

}  // namespace troupe
