#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>

#include <asio/ip/address.hpp>

namespace troupe {

/// Where a connection comes from, for all that counts by address: an address of IPv4; of IPv6 the network of 64 bits,
/// as one machine has as many addresses there as it likes.
[[nodiscard]] asio::ip::address origin_of(const asio::ip::address& address);

/// From where peers of the run are expected: the nodes that a hostfile names, and the processes that edges are awaited
/// from. Their connections have seats of their own (tcp_endpoint_options::expected). Threads: any.
class expected_addresses {
 public:
  /// False for a text that is no numeric address, and for one more than limits::launch_nodes_max.
  bool add(const std::string& numeric);
  [[nodiscard]] bool has(const asio::ip::address& origin) const;

 private:
  mutable std::mutex mutex_;
  std::set<asio::ip::address> origins_;
};

}  // namespace troupe
