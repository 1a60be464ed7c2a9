#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/node_filter.hpp"
#include "runtime/launch/scheduler.hpp"
#include "runtime/launcher/own_host.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What the user says of nodes and of how their agents come to be.
struct launch_choice {
  std::optional<std::string> hostfile;
  node_filter filter;
  /// --ssh is given.
  bool has_ssh_command = false;
  bool no_ssh = false;
  std::optional<std::uint32_t> node_rank;
  std::optional<std::string> join_file;
};

/// What this process does in the launch.
enum class launch_part : std::uint8_t {
  start_agents,      ///< the launcher, which reaches the other nodes by ssh
  write_join_files,  ///< the launcher, on the node of rank 0; the other nodes run this program, too
  await_join_file,   ///< the agent of another node
  nothing,           ///< another process on this node does it, or the node is not used
};

/// The parts of a launch, decided.
struct launch_roles {
  launch_part part = launch_part::nothing;
  /// For a launcher: its nodes.
  std::vector<node_slots> nodes;
  std::optional<std::size_t> driver_node;
  /// For a launcher that writes join files: the rank of each node, which differs from its position where some are left
  /// out.
  std::vector<std::uint32_t> node_ranks;
  /// For an agent: its file. For a launcher: the part of the names before the ranks.
  std::string join_file;
  /// For an agent: "node rank 3", or the node's name.
  std::string node;
  /// For `nothing`: the reason, for the user.
  std::string reason;
};

/// The file by which the node of this rank joins: "F.3".
std::string join_file_of(const std::string& prefix, std::uint32_t node_rank);

/// Decides by the flags, the scheduler and the hostfile.
///
/// Join files are used with --no-ssh or --join-file, and where a scheduler has started this program on every node and
/// there is no hostfile. The ranks of nodes are then --node-rank's or the scheduler's. The nodes are those of the
/// hostfile, else of Slurm, else "node-0", "node-1", ... as many as the scheduler or --num-nodes says, with --num-slots
/// slots, or 1. Of several processes on a node the first one alone has a part.
///
/// Errors: those of read_hostfile(), select_nodes() and find_scheduler(); E0104 for flags that contradict; E0105 for
/// one that is missing, which names it.
expected<launch_roles> decide_launch_roles(const launch_choice& choice, const environment_lookup& lookup,
                                           const own_host& host);

}  // namespace troupe
