#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <asio/ip/tcp.hpp>

#include "runtime/link/link_end.hpp"
#include "runtime/link/link_thread.hpp"

namespace troupe {

/// A node's end: `link` is its first frame, and the driver's answer says how long either may be silent.
/// Before that a connection that ends is followed by another one, at most limits::link_dials_max in all, and
/// none later than limits::tcp_handshake_timeout after the first.
class dialled_link final : public link_end {
 public:
  /// `on` lives as long as its core is not cut.
  dialled_link(link_thread& on, const asio::ip::tcp::endpoint& to, std::unique_ptr<tls_context> tls)
      : link_end(on.core), on_(on), to_(to), tls_(std::move(tls)) {}

  expected<void> on_handshake(connection& from) override;
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
  bool awaits_answer_ = false;
  bool has_answer_ = false;
  std::uint32_t dials_ = 0;
  clock::time_point dial_until_;
};

}  // namespace troupe
