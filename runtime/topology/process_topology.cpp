#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include <troupe/process_topology.hpp>

namespace troupe {
namespace {

const std::string topology_place = "process topology";

tl::unexpected<error> out_of_range(std::string_view what, std::uint64_t value, std::uint64_t count) {
  return fail(error_code::value_out_of_range, topology_place,
              fmt::format("{} {} does not exist, there are {}", what, value, count),
              fmt::format("use 0 to {}", count - 1));
}

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

process_topology::process_topology(std::vector<topology_axis> axes, std::uint64_t world_size)
    : axes_(std::move(axes)), world_size_(world_size) {}

expected<process_topology> process_topology::make(std::vector<topology_axis> axes) {
  if (axes.empty()) {
    return fail(error_code::topology_invalid, topology_place, "there is no axis", "give at least one axis");
  }
  std::uint64_t world_size = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (auto ok = check_axis(axes, i); !ok) {
      return tl::make_unexpected(std::move(ok.error()));
    }
    if (axes[i].size > limits::ranks_max / world_size) {
      return fail(error_code::topology_invalid, topology_place, fmt::format("more than {} ranks", limits::ranks_max),
                  "make the axes smaller");
    }
    world_size *= axes[i].size;
  }
  return process_topology(std::move(axes), world_size);
}

expected<std::size_t> process_topology::index_of(std::string_view axis) const {
  std::string known;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == axis) {
      return i;
    }
    known += i == 0 ? "" : ", ";
    known += axes_[i].name;
  }
  return fail(error_code::unknown_name, topology_place, fmt::format("there is no axis '{}'", axis),
              "use one of: " + known);
}

std::uint64_t process_topology::stride(std::size_t axis) const {
  std::uint64_t ranks = 1;
  for (std::size_t i = axis + 1; i < axes_.size(); ++i) {
    ranks *= axes_[i].size;
  }
  return ranks;
}

std::uint64_t process_topology::value_at(rank_number rank, std::size_t axis) const {
  return rank / stride(axis) % axes_[axis].size;
}

std::uint64_t process_topology::dimension(std::string_view axis) const noexcept {
  const auto found = std::find_if(axes_.begin(), axes_.end(), [&](const topology_axis& a) { return a.name == axis; });
  return found == axes_.end() ? 0 : found->size;
}

expected<rank_number> process_topology::rank(std::span<const std::uint64_t> coordinates) const {
  if (coordinates.size() != axes_.size()) {
    return fail(error_code::value_out_of_range, topology_place,
                fmt::format("{} coordinates for {} axes", coordinates.size(), axes_.size()),
                "give one coordinate per axis");
  }
  rank_number rank = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (coordinates[i] >= axes_[i].size) {
      return out_of_range(axes_[i].name + " coordinate", coordinates[i], axes_[i].size);
    }
    rank = rank * axes_[i].size + coordinates[i];
  }
  return rank;
}

expected<std::vector<std::uint64_t>> process_topology::coordinates(rank_number rank) const {
  if (rank >= world_size_) {
    return out_of_range("rank", rank, world_size_);
  }
  std::vector<std::uint64_t> result;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    result.push_back(value_at(rank, i));
  }
  return result;
}

expected<std::uint64_t> process_topology::coordinate(rank_number rank, std::string_view axis) const {
  return index_of(axis).and_then([&](std::size_t i) {
    return coordinates(rank).map([&](const std::vector<std::uint64_t>& all) { return all[i]; });
  });
}

expected<std::vector<std::vector<rank_number>>> process_topology::comm_lists(std::string_view axis) const {
  return index_of(axis).map([&](std::size_t i) {
    std::vector<std::vector<rank_number>> lists;
    for (rank_number first = 0; first < world_size_; ++first) {
      if (value_at(first, i) != 0) {
        continue;
      }
      std::vector<rank_number>& list = lists.emplace_back();
      for (std::uint64_t value = 0; value < axes_[i].size; ++value) {
        list.push_back(first + value * stride(i));
      }
    }
    return lists;
  });
}

expected<std::vector<rank_number>> process_topology::filter(std::span<const axis_value> wanted) const {
  std::vector<std::pair<std::size_t, std::uint64_t>> conditions;
  for (const axis_value& w : wanted) {
    const auto axis = index_of(w.axis);
    if (!axis) {
      return tl::make_unexpected(axis.error());
    }
    if (w.value >= axes_[*axis].size) {
      return out_of_range(w.axis + " coordinate", w.value, axes_[*axis].size);
    }
    conditions.emplace_back(*axis, w.value);
  }
  std::vector<rank_number> ranks;
  for (rank_number rank = 0; rank < world_size_; ++rank) {
    const auto holds = [&](const auto& c) { return value_at(rank, c.first) == c.second; };
    if (std::all_of(conditions.begin(), conditions.end(), holds)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

expected<std::string> process_topology::rank_name(rank_number rank, std::span<const std::string_view> omitted) const {
  return coordinates(rank).map([&](const std::vector<std::uint64_t>& all) {
    std::string name;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (std::find(omitted.begin(), omitted.end(), axes_[i].name) == omitted.end()) {
        name += name.empty() ? "" : "-";
        name += fmt::format("{}_{:02}", axes_[i].name, all[i]);
      }
    }
    return name;
  });
}

expected<std::string> process_topology::rank_name(rank_number rank) const {
  constexpr std::array<std::string_view, 2> never_in_file_names{"data", "pipe"};
  return rank_name(rank, never_in_file_names);
}

expected<process_topology> pipe_data_parallel_topology(std::uint64_t stages, std::uint64_t replicas) {
  return process_topology::make({{"pipe", stages}, {"data", replicas}});
}

expected<process_topology> pipe_model_data_parallel_topology(std::uint64_t stages, std::uint64_t model_parallel,
                                                             std::uint64_t replicas) {
  return process_topology::make({{"pipe", stages}, {"data", replicas}, {"model", model_parallel}});
}

}  // namespace troupe
