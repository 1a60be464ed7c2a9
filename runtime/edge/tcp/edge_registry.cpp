#include "runtime/edge/tcp/edge_registry.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "runtime/edge/tcp/edge_errors.hpp"

namespace troupe {

error lost_edge(const edge_key& key, const std::string& peer, const error& why) {
  const std::string code = why.code == error_code::peer_lost ? "" : code_name(why.code) + ": ";
  const std::string where = why.where.empty() ? "" : why.where + ": ";
  return {error_code::peer_lost, to_string(key) + ", peer " + peer, code + where + why.cause,
          "see the log of the run (stderr, or --log FILE) for the end of the peer"};
}

tl::unexpected<error> unexpected_frame(std::string what) {
  return fail(error_code::wire_malformed, "frame", std::move(what),
              "Check that both ends run the same version of Troupe");
}

expected<std::shared_ptr<receiver_link>> edge_registry::add(std::shared_ptr<receiver_link> link) {
  const std::scoped_lock lock(guard_);
  entry& place = edges_[link->key.edge];
  const bool is_new = place.slots == 0;
  if (!is_new && place.key.run == link->key.run && place.key.epoch >= link->key.epoch) {
    return refuse_peer(to_string(link->key), "the edge is already accepted as " + to_string(place.key));
  }
  place.key = link->key;
  place.slots = link->slots;
  return std::exchange(place.waiting, std::move(link));
}

expected<edge_transcript> edge_registry::find(const hello_frame& hello) {
  const std::scoped_lock lock(guard_);
  const auto found = edges_.find(hello.key.edge);
  if (found == edges_.end()) {
    const bool knows_one =
        std::ranges::any_of(edges_, [&](const auto& each) { return knows_secret(hello, each.second.key.run); });
    if (!knows_one) return refuse_peer("handshake", "it does not know the secret of this run");
    return refuse_peer(to_string(hello.key), "no such edge is accepted here");
  }
  const entry& place = found->second;
  TROUPE_TRY(check_hello(hello, place.key, place.slots));
  if (!place.waiting) return refuse_peer(to_string(place.key), "the edge is already connected");
  return transcript_of(hello, place.key.run);
}

expected<std::shared_ptr<receiver_link>> edge_registry::admit(const edge_key& key,
                                                              const std::optional<std::string>& node) {
  const std::scoped_lock lock(guard_);
  const auto found = edges_.find(key.edge);
  if (found == edges_.end() || found->second.key != key || !found->second.waiting) {
    return refuse_peer(to_string(key), "the edge was connected, or replaced, meanwhile");
  }
  TROUPE_TRY(check_peer(to_string(key), node, found->second.waiting->peer));
  return std::exchange(found->second.waiting, nullptr);
}

bool edge_registry::withdraw(const receiver_link& link) {
  const std::scoped_lock lock(guard_);
  const auto found = edges_.find(link.key.edge);
  if (found == edges_.end() || found->second.waiting.get() != &link) return false;
  found->second.waiting = nullptr;
  return true;
}

}  // namespace troupe
