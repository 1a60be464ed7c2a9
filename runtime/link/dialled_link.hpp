#pragma once

#include <memory>

#include <asio/ip/tcp.hpp>

#include "runtime/link/link_end.hpp"
#include "runtime/link/link_thread.hpp"

namespace troupe {

/// A node's end: `link` is its first frame, and the driver's answer says how long either may be silent.
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
  link_thread& on_;
  const asio::ip::tcp::endpoint to_;
  const std::unique_ptr<tls_context> tls_;
  bool awaits_answer_ = false;
};

}  // namespace troupe
