#include "runtime/edge/tcp/untrusted_peers.hpp"

#include <algorithm>

#include "messages/limits.hpp"

namespace troupe {

void untrusted_peers::add(const std::shared_ptr<connection>& one, const asio::ip::address& from) {
  peers_.push_back({one, clock::now(), from});
}

bool untrusted_peers::make_room() {
  std::erase_if(peers_, [](const peer& each) {
    const auto one = each.there.lock();
    return !one || !one->is_untrusted();
  });
  if (peers_.size() < limits::tcp_untrusted_peers_max) return true;
  const auto had_its_time = [now = clock::now()](const peer& each) {
    return now - each.since >= limits::tcp_untrusted_time_max ||
           each.there.lock()->is_idle(limits::tcp_untrusted_idle_max);
  };
  const auto neighbours = [&](const peer& each) {
    return had_its_time(each) ? std::ranges::count(peers_, each.from, &peer::from) : std::ptrdiff_t{0};
  };
  const auto found = std::ranges::max_element(peers_, {}, neighbours);
  if (!had_its_time(*found)) return false;
  const auto closed = found->there.lock();
  peers_.erase(found);
  closed->make_room();
  return true;
}

}  // namespace troupe
