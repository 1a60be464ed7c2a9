#include "runtime/edge/tcp/untrusted_peers.hpp"

#include <algorithm>

#include "messages/limits.hpp"

namespace troupe {

void untrusted_peers::add(const std::shared_ptr<connection>& one, const address& from) {
  peers_.push_back({one, clock::now(), from});
}

bool untrusted_peers::make_room(const address& from) {
  std::erase_if(peers_, [](const peer& each) {
    const auto one = each.there.lock();
    return !one || !one->is_untrusted();
  });
  const auto count_of = [this](const address& one) {
    return static_cast<std::size_t>(std::ranges::count(peers_, one, &peer::from));
  };
  const bool is_crowd = count_of(from) >= limits::tcp_untrusted_of_address_max;
  if (!is_crowd && peers_.size() < limits::tcp_untrusted_peers_max) return true;
  const auto had_its_time = [now = clock::now()](const peer& each) {
    return now - each.since >= limits::tcp_untrusted_time_max ||
           each.there.lock()->is_idle(limits::tcp_untrusted_idle_max);
  };
  const auto neighbours = [&](const peer& each) {
    const bool may_go = (!is_crowd || each.from == from) && had_its_time(each);
    return may_go ? count_of(each.from) : 0;
  };
  const auto found = std::ranges::max_element(peers_, {}, neighbours);
  if (neighbours(*found) == 0) return false;
  const auto closed = found->there.lock();
  peers_.erase(found);
  closed->make_room();
  return true;
}

}  // namespace troupe
