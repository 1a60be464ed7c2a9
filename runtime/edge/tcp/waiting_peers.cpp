#include "runtime/edge/tcp/waiting_peers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "messages/limits.hpp"

namespace troupe {

std::optional<waiting_peers::address> waiting_peers::add(asio::ip::tcp::socket peer, const address& from) {
  queue& own = by_address_[from];
  if (own.peers.empty()) own.turn = ++turns_;
  own.peers.push_back(std::move(peer));
  if (++size_ <= limits::tcp_waiting_peers_max) return std::nullopt;
  const auto most = std::ranges::max_element(
      by_address_, {}, [](const auto& each) { return std::pair(each.second.peers.size(), each.second.turn); });
  const address closed = most->first;
  most->second.peers.pop_front();
  if (most->second.peers.empty()) by_address_.erase(most);
  --size_;
  return closed;
}

void waiting_peers::serve(const judge& has_room, const welcomer& welcome) {
  std::vector<address> asking;
  for (const auto& [from, _] : by_address_) asking.push_back(from);
  std::ranges::sort(asking, {}, [this](const address& from) { return by_address_.at(from).turn; });
  while (!asking.empty()) {
    std::erase_if(asking, [&](const address& from) {
      if (!has_room(from)) return true;
      const auto found = by_address_.find(from);
      asio::ip::tcp::socket newest = std::move(found->second.peers.back());
      found->second.peers.pop_back();
      --size_;
      const bool was_last = found->second.peers.empty();
      if (was_last) by_address_.erase(found);
      welcome(std::move(newest), from);
      return was_last;
    });
  }
}

}  // namespace troupe
