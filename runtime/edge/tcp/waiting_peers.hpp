#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>

namespace troupe {

/// Connections that were taken from the listener's queue and are not read yet, as too many of their address are about
/// their handshake (untrusted_peers). The queue of the kernel stays short, so that a flood from one address delays no
/// other. At most limits::tcp_waiting_peers_max: for one more the oldest of the address with most is closed; of several
/// such addresses, of the one that came last. I/O thread only.
class waiting_peers {
 public:
  using address = asio::ip::address;
  using judge = std::function<bool(const address& from)>;
  using welcomer = std::function<void(asio::ip::tcp::socket peer, const address& from)>;

  /// The address of the one that was closed for it, perhaps its own.
  std::optional<address> add(asio::ip::tcp::socket peer, const address& from);
  [[nodiscard]] bool is_empty() const noexcept { return by_address_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Hands over as many as there is room for: one of each address in turn, in the order in which the addresses came,
  /// and of an address the newest, as the others may have given up. An address for which there is no room is not asked
  /// for again.
  void serve(const judge& has_room, const welcomer& welcome);

 private:
  struct queue {
    /// Ascends over all addresses.
    std::uint64_t turn = 0;
    std::deque<asio::ip::tcp::socket> peers;
  };
  std::map<address, queue> by_address_;
  std::uint64_t turns_ = 0;
  std::size_t size_ = 0;
};

}  // namespace troupe
