#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// On which node each stage replica of a launched run lives. A replica stays where it is until its node is lost. Then
/// it goes to the next node, in the order of the launch, that has a slot left; and where none has, if the run may
/// shrink, to the node with the fewest stages per slot. Threads: any.
class stage_placement {
 public:
  struct placed_node {
    std::string name;
    /// At least 1.
    std::uint32_t slots = 1;
  };
  /// `first`: positions in `nodes`, for all replicas that live in workers.
  stage_placement(std::vector<placed_node> nodes, std::map<stage_address, std::size_t> first, bool may_shrink);

  /// Where the next worker of this replica is to live. E0618, with the cause of the loss, where its node is lost and no
  /// other one can take it.
  [[nodiscard]] expected<std::size_t> node_for(stage_address at);
  /// It is out of reach from now on; the first cause stays.
  void lose(std::size_t node, const error& why);
  [[nodiscard]] bool is_lost(std::size_t node) const;
  /// Whether the nodes that are left can take all replicas.
  [[nodiscard]] bool has_room() const;

 private:
  struct state {
    placed_node what;
    std::uint32_t stages = 0;
    /// Empty while it is there.
    std::string loss = {};
  };
  [[nodiscard]] state* find_successor();

  const bool may_shrink_;
  mutable std::mutex mutex_;
  std::vector<state> nodes_;
  std::map<stage_address, std::size_t> at_;
};

}  // namespace troupe
