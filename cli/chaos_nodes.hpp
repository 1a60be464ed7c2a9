#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "runtime/launch/node_filter.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe::cli {

/// The launch that `troupe chaos` stands behind: each of its evaluations is a launch of its own, as a node that was
/// lost does not come back to one.
struct chaos_nodes {
  /// Between `troupe launch` and `--`.
  arguments launch_flags;
  /// Troupe, as the command has it.
  std::string program;
  std::vector<node_slots> nodes;
  std::optional<std::size_t> driver_node;
  bool allow_shrink = false;
};

/// What a plan can name of them in a run of so many stage replicas.
[[nodiscard]] std::vector<fault_shape::place> places_of(const chaos_nodes& launched, std::size_t stages);

/// run_chaos(), with evaluations over these nodes.
expected<exit_status> run_chaos_over(const chaos_nodes& nodes, const arguments& given);

}  // namespace troupe::cli
