#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// The slots of one node among those of all nodes of a launch.
struct node_ranks {
  std::uint32_t slots = 1;
  /// Slots of the nodes before it.
  std::uint32_t first_rank = 0;
  /// Slots of all nodes.
  std::uint32_t world_size = 1;
};

/// Which slot each worker of a node has: the lowest that is free. A worker that finds none free (a spare) is numbered
/// behind the slots, and its RANK is not below WORLD_SIZE. Threads: any.
class local_ranks {
 public:
  explicit local_ranks(node_ranks node) : node_(node) {}

  [[nodiscard]] std::uint32_t slots() const noexcept { return node_.slots; }
  [[nodiscard]] std::uint32_t take();
  void release(std::uint32_t local_rank);
  /// RANK and LOCAL_RANK, LOCAL_WORLD_SIZE and WORLD_SIZE, as torchrun means them.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> variables_of(std::uint32_t local_rank) const;

 private:
  const node_ranks node_;
  std::mutex mutex_;
  std::set<std::uint32_t> taken_;
};

}  // namespace troupe
