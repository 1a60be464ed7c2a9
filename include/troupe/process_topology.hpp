#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// One axis of a topology and how many coordinates it has.
struct topology_axis {
  std::string name;
  std::uint64_t size = 1;
  friend bool operator==(const topology_axis&, const topology_axis&) = default;
};

/// The named axes over which ranks (processes) are laid out, as DeepSpeed's ProcessTopology: row-major, the last axis
/// varies fastest. Immutable.
class process_topology {
 public:
  /// E0503 for two axes of one name, E0504 for no axis, an unnamed or empty one, or more than limits::ranks_max ranks.
  static expected<process_topology> make(std::vector<topology_axis> axes);

  [[nodiscard]] const std::vector<topology_axis>& axes() const noexcept { return axes_; }

 private:
  explicit process_topology(std::vector<topology_axis> axes) : axes_(std::move(axes)) {}

  std::vector<topology_axis> axes_;
};

/// Axes (pipe, data): stage s of replica d is rank s * replicas + d.
expected<process_topology> pipe_data_parallel_topology(std::uint64_t stages, std::uint64_t replicas);

/// Axes (pipe, data, model).
expected<process_topology> pipe_model_data_parallel_topology(std::uint64_t stages, std::uint64_t model_parallel,
                                                             std::uint64_t replicas);

}  // namespace troupe
