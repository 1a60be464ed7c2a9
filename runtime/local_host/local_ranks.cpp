#include "runtime/local_host/local_ranks.hpp"

namespace troupe {

std::uint32_t local_ranks::take() {
  const std::lock_guard lock{mutex_};
  std::uint32_t free = 0;
  while (taken_.contains(free)) ++free;
  taken_.insert(free);
  return free;
}

void local_ranks::release(std::uint32_t local_rank) {
  const std::lock_guard lock{mutex_};
  taken_.erase(local_rank);
}

std::vector<std::pair<std::string, std::string>> local_ranks::variables_of(std::uint32_t local_rank) const {
  const bool has_slot = local_rank < node_.slots;
  const std::uint32_t behind = node_.world_size + node_.first_rank + local_rank - node_.slots;
  return {{"RANK", std::to_string(has_slot ? node_.first_rank + local_rank : behind)},
          {"LOCAL_RANK", std::to_string(local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(node_.slots)},
          {"WORLD_SIZE", std::to_string(node_.world_size)}};
}

}  // namespace troupe
