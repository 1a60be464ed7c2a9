#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

using rank_number = std::uint64_t;

/// One axis of a topology and how many coordinates it has.
struct topology_axis {
  std::string name;
  std::uint64_t size = 1;
  friend bool operator==(const topology_axis&, const topology_axis&) = default;
};

/// "where this axis has this coordinate".
struct axis_value {
  std::string axis;
  std::uint64_t value = 0;
};

/// How ranks (processes) are laid out over named axes, as DeepSpeed's ProcessTopology: row-major, the last axis varies
/// fastest. Immutable. Names and coordinates that do not exist are errors (E0102, E0103) in every call.
class process_topology {
 public:
  /// E0503 for two axes of one name, E0504 for no axis, an unnamed or empty one, or more than limits::ranks_max ranks.
  static expected<process_topology> make(std::vector<topology_axis> axes);

  [[nodiscard]] const std::vector<topology_axis>& axes() const noexcept { return axes_; }
  [[nodiscard]] std::uint64_t world_size() const noexcept { return world_size_; }
  /// 0 for an axis that does not exist, as DeepSpeed's get_dim.
  [[nodiscard]] std::uint64_t dimension(std::string_view axis) const noexcept;

  /// The rank at one coordinate per axis, in the order of axes(). E0103 for another number of coordinates.
  [[nodiscard]] expected<rank_number> rank(std::span<const std::uint64_t> coordinates) const;
  /// The coordinates of a rank, in the order of axes().
  [[nodiscard]] expected<std::vector<std::uint64_t>> coordinates(rank_number rank) const;
  /// One coordinate of a rank.
  [[nodiscard]] expected<std::uint64_t> coordinate(rank_number rank, std::string_view axis) const;

  /// The groups that communicate along `axis`: ranks that differ in this axis alone, each list in the order of the
  /// axis, the lists in the order of their first ranks.
  [[nodiscard]] expected<std::vector<std::vector<rank_number>>> comm_lists(std::string_view axis) const;

  /// All ranks with all these coordinates, ascending; every rank where nothing is asked for, and none where one axis is
  /// to have two values.
  [[nodiscard]] expected<std::vector<rank_number>> filter(std::span<const axis_value> wanted) const;

  /// "model_01": axis and two-digit coordinate, joined by '-', of all axes but `omitted`. The default leaves out "data"
  /// and "pipe", as DeepSpeed does in the names of checkpoint files.
  [[nodiscard]] expected<std::string> rank_name(rank_number rank, std::span<const std::string_view> omitted) const;
  [[nodiscard]] expected<std::string> rank_name(rank_number rank) const;

 private:
  process_topology(std::vector<topology_axis> axes, std::uint64_t world_size);
  [[nodiscard]] expected<std::size_t> index_of(std::string_view axis) const;
  /// Distance between ranks that are neighbours along the axis.
  [[nodiscard]] std::uint64_t stride(std::size_t axis) const;
  [[nodiscard]] std::uint64_t value_at(rank_number rank, std::size_t axis) const;

  std::vector<topology_axis> axes_;
  std::uint64_t world_size_;
};

/// Axes (pipe, data): stage s of replica d is rank s * replicas + d.
expected<process_topology> pipe_data_parallel_topology(std::uint64_t stages, std::uint64_t replicas);

/// Axes (pipe, data, model).
expected<process_topology> pipe_model_data_parallel_topology(std::uint64_t stages, std::uint64_t model_parallel,
                                                             std::uint64_t replicas);

}  // namespace troupe
