#include "runtime/edge/tcp/waiting_peers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "messages/limits.hpp"

namespace troupe {

void waiting_peers::add(asio::ip::tcp::socket peer, const address& from) {
  by_address_[from].push_back(std::move(peer));
  if (++size_ <= limits::tcp_waiting_peers_max) return;
  const auto most = std::ranges::max_element(by_address_, {}, [](const auto& each) { return each.second.size(); });
  most->second.pop_front();
  if (most->second.empty()) by_address_.erase(most);
  --size_;
}

void waiting_peers::serve(const judge& has_room, const welcomer& welcome) {
  std::vector<address> asking;
  for (const auto& [from, peers] : by_address_) asking.push_back(from);
  while (!asking.empty()) {
    std::erase_if(asking, [&](const address& from) {
      if (!has_room(from)) return true;
      const auto found = by_address_.find(from);
      asio::ip::tcp::socket newest = std::move(found->second.back());
      found->second.pop_back();
      --size_;
      const bool was_last = found->second.empty();
      if (was_last) by_address_.erase(found);
      welcome(std::move(newest), from);
      return was_last;
    });
  }
}

}  // namespace troupe
