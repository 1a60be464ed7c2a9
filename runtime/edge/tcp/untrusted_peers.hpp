#pragma once

#include <chrono>
#include <deque>
#include <memory>

#include "runtime/edge/tcp/connection.hpp"

namespace troupe {

/// Seats of an endpoint for connections that have not shown to belong to the run: at most
/// limits::tcp_untrusted_peers_max, and limits::tcp_untrusted_of_address_max of one address, so that another one finds
/// room at once. Many nodes that join at the same time wait (waiting_peers); peers that say nothing make room for them,
/// first those of the address that has most: a crowd at one address is in its own way alone. A crowd with as many
/// addresses as it likes is in the way of all that have the same seats, so an endpoint has them twice: once for the
/// addresses that it expects (expected_addresses), once for all others. I/O thread only.
class untrusted_peers {
 public:
  using address = asio::ip::address;

  /// Whether there is room for one more from there. Where there is none, it closes the oldest that has been idle for
  /// its own round trip and limits::tcp_untrusted_idle_max, or has been here for limits::tcp_untrusted_time_max: of the
  /// same address, where that has as many as it may, else of the address with most. False: there will be soon.
  [[nodiscard]] bool make_room(const address& from);
  /// `from`: its address, or its network where a machine has many addresses.
  void add(const std::shared_ptr<connection>& one, const address& from);

 private:
  using clock = std::chrono::steady_clock;
  struct peer {
    std::weak_ptr<connection> there;
    clock::time_point since;
    address from;
  };

  /// In the order they came.
  std::deque<peer> peers_;
};

}  // namespace troupe
