#include "runtime/topology/pipeline_grid.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "messages/limits.hpp"

namespace troupe {

expected<process_topology> default_topology(std::uint64_t world_size) {
  if (world_size == 0 || world_size > limits::ranks_max) {
    return fail(error_code::topology_invalid, "process topology",
                fmt::format("{} ranks, allowed are 1 to {}", world_size, limits::ranks_max),
                "choose another number of ranks");
  }
  std::uint64_t pipe = 1;
  std::uint64_t data = 1;
  bool pipe_is_next = true;
  for (std::uint64_t factor = 2; world_size > 1;) {
    if (world_size % factor != 0) {
      ++factor;
      continue;
    }
    (pipe_is_next ? pipe : data) *= factor;
    pipe_is_next = !pipe_is_next;
    world_size /= factor;
  }
  return pipe_data_parallel_topology(pipe, data);
}

expected<pipeline_grid> pipeline_grid::make(process_topology topology, rank_number rank) {
  const std::size_t known = 2 + (topology.dimension("model") > 0 ? 1 : 0);
  if (topology.dimension("pipe") == 0 || topology.dimension("data") == 0 || topology.axes().size() != known) {
    return fail(error_code::topology_invalid, "process topology",
                "a grid has the axes pipe and data, and may have model",
                "use pipe_data_parallel_topology or pipe_model_data_parallel_topology");
  }
  return topology.coordinates(rank).map([&](const auto&) { return pipeline_grid(std::move(topology), rank); });
}

std::uint64_t pipeline_grid::along(std::string_view axis) const {
  return topology_.coordinate(rank_, axis).value_or(0);
}

std::uint64_t pipeline_grid::stage_id() const {
  return along("pipe");
}

std::uint64_t pipeline_grid::data_parallel_id() const {
  return along("data");
}

std::uint64_t pipeline_grid::model_parallel_id() const {
  return along("model");
}

std::uint64_t pipeline_grid::model_parallel_size() const {
  return std::max<std::uint64_t>(1, topology_.dimension("model"));
}

std::vector<rank_number> pipeline_grid::group(std::string_view axis) const {
  const auto lists = topology_.comm_lists(axis);
  if (!lists) {
    return {rank_};
  }
  return *std::find_if(lists->begin(), lists->end(),
                       [&](const auto& list) { return std::find(list.begin(), list.end(), rank_) != list.end(); });
}

expected<rank_number> pipeline_grid::stage_to_global(std::uint64_t stage) const {
  if (stage >= pipe_parallel_size()) {
    return fail(error_code::value_out_of_range, "process topology",
                fmt::format("stage {} does not exist, there are {}", stage, pipe_parallel_size()),
                fmt::format("use 0 to {}", pipe_parallel_size() - 1));
  }
  return pipe_group()[stage];
}

}  // namespace troupe
