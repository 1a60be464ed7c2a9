#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <asio/ip/tcp.hpp>

#include "runtime/link/link_end.hpp"
#include "runtime/link/link_thread.hpp"

namespace troupe {

/// A node's end: `link` is its first frame, and the driver's answer says how long either may be silent. Before that a
/// connection that ends is followed by another one, until `at_most` after the first, unless limits::link_rejections_max
/// of them were rejected (connection_role::rejected).
class dialled_link final : public link_end {
 public:
  /// `on` lives as long as its core is not cut.
  dialled_link(link_thread& on, const asio::ip::tcp::endpoint& to, std::unique_ptr<tls_context> tls,
               std::chrono::milliseconds at_most)
      : link_end(on.core), on_(on), to_(to), tls_(std::move(tls)), at_most_(at_most) {}

  expected<void> on_handshake(connection& from) override;
  void rejected() override;
  void lost(const error& why, const std::string& peer) override;

 protected:
  expected<std::shared_ptr<connection>> connect() override;
  expected<bool> greet(connection& from, const frame& head) override;

 private:
  using clock = std::chrono::steady_clock;

  void dial_later();

  link_thread& on_;
  const asio::ip::tcp::endpoint to_;
  const std::unique_ptr<tls_context> tls_;
  const std::chrono::milliseconds at_most_;
  bool awaits_answer_ = false;
  bool is_rejected_ = false;
  bool has_answer_ = false;
  std::uint32_t dials_ = 0;
  std::uint32_t rejections_ = 0;
  clock::time_point dial_until_;
};

}  // namespace troupe
