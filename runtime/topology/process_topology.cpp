#include <algorithm>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include <troupe/process_topology.hpp>

namespace troupe {
namespace {

const std::string topology_place = "process topology";

expected<void> check_axis(const std::vector<topology_axis>& axes, std::size_t i) {
  const topology_axis& axis = axes[i];
  if (axis.name.empty() || axis.size == 0) {
    return fail(error_code::topology_invalid, topology_place,
                fmt::format("axis {} ('{}') has size {}", i, axis.name, axis.size),
                "give every axis a name and a size of at least 1");
  }
  const auto same = [&](const topology_axis& other) { return other.name == axis.name; };
  if (std::count_if(axes.begin(), axes.end(), same) > 1) {
    return fail(error_code::topology_duplicate_name, topology_place, fmt::format("two axes are called '{}'", axis.name),
                "give every axis a name of its own");
  }
  return {};
}

}  // namespace

expected<process_topology> process_topology::make(std::vector<topology_axis> axes) {
  if (axes.empty()) {
    return fail(error_code::topology_invalid, topology_place, "there is no axis", "give at least one axis");
  }
  std::uint64_t world_size = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    TROUPE_TRY(check_axis(axes, i));
    if (axes[i].size > limits::ranks_max / world_size) {
      return fail(error_code::topology_invalid, topology_place, fmt::format("more than {} ranks", limits::ranks_max),
                  "make the axes smaller");
    }
    world_size *= axes[i].size;
  }
  return process_topology(std::move(axes));
}

expected<process_topology> pipe_data_parallel_topology(std::uint64_t stages, std::uint64_t replicas) {
  return process_topology::make({{"pipe", stages}, {"data", replicas}});
}

expected<process_topology> pipe_model_data_parallel_topology(std::uint64_t stages, std::uint64_t model_parallel,
                                                             std::uint64_t replicas) {
  return process_topology::make({{"pipe", stages}, {"data", replicas}, {"model", model_parallel}});
}

}  // namespace troupe
