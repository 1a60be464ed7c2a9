#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/edge/tcp/edge_link.hpp"
#include "runtime/edge/tcp/handshake.hpp"

namespace troupe {

/// The edges that a process takes connections for. An edge is connected once; its next epoch is another entry in its
/// place. Threads: any.
class edge_registry {
 public:
  /// From now on the peer is let in. Replaces an older epoch of the edge, and returns it if it was still waiting.
  /// Errors: E0707, if this epoch or a newer one is already here.
  [[nodiscard]] expected<std::shared_ptr<receiver_link>> add(std::shared_ptr<receiver_link> link);

  /// What the peer claims and has proven in its hello: an edge that is waited for here. Errors: E0707.
  [[nodiscard]] expected<edge_transcript> find(const hello_frame& hello);
  /// That edge, for a peer of this node (connection::peer_node()); it is taken with this. Errors: E0707.
  [[nodiscard]] expected<std::shared_ptr<receiver_link>> admit(const edge_key& key,
                                                               const std::optional<std::string>& node);

  /// Ends the wait for the peer. False if the peer is already connected.
  bool withdraw(const receiver_link& link);

 private:
  struct entry {
    edge_key key;
    std::uint32_t slots = 0;
    std::shared_ptr<receiver_link> waiting;
  };
  std::mutex guard_;
  std::map<std::uint32_t, entry> edges_;
};

}  // namespace troupe
