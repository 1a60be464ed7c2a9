#include "runtime/launcher/launch_roles.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/hostfile.hpp"

namespace troupe {
namespace {

tl::unexpected<error> missing(std::string flag, std::string cause, std::string fix) {
  return fail(error_code::missing_flag, std::move(flag), std::move(cause), std::move(fix));
}

tl::unexpected<error> contradicting(std::string flags, std::string cause, std::string fix) {
  return fail(error_code::flags_contradict, std::move(flags), std::move(cause), std::move(fix));
}

bool uses_join_files(const launch_choice& choice, const scheduler_place& place) {
  return choice.no_ssh || choice.join_file || (!choice.hostfile && place.is_on_every_node);
}

expected<void> check_choice(const launch_choice& choice, const scheduler_place& place) {
  if (choice.no_ssh && choice.has_ssh_command)
    return contradicting("--ssh and --no-ssh", "nothing is started by ssh", "leave one of them out");
  if (!uses_join_files(choice, place)) {
    if (choice.node_rank)
      return contradicting("--node-rank", "agents are started by ssh, and need no rank", "add --no-ssh");
    return {};
  }
  if (choice.has_ssh_command)
    return contradicting("--ssh and --join-file", "agents that find a file are not started by ssh", "leave one out");
  if (!choice.join_file) {
    const std::string why = choice.no_ssh ? std::string("agents are started by hand")
                                          : fmt::format("{} has started this on every node", name_of(place.kind));
    return missing("--join-file", why + ", and they do not know how to join",
                   "give --join-file FILE, the same new name on all nodes, in a directory that they share");
  }
  if (!choice.node_rank && !place.node_rank) {
    return missing("--node-rank", "no scheduler says which node this is",
                   "give --node-rank 0 on the node of the driver, and 1, 2, ... on the others");
  }
  return {};
}

/// Nodes without names of their own.
expected<std::vector<launch_node>> numbered_nodes(std::uint64_t count, std::uint64_t slots) {
  if (count > limits::launch_nodes_max || slots > limits::node_slots_max) {
    return fail(error_code::value_out_of_range, "--num-nodes and --num-slots",
                fmt::format("{} nodes with {} slots, a launch has at most {} with {}", count, slots,
                            limits::launch_nodes_max, limits::node_slots_max),
                "use fewer");
  }
  std::vector<launch_node> nodes;
  for (std::uint64_t i = 0; i < count; ++i)
    nodes.push_back({fmt::format("node-{}", i), static_cast<std::uint32_t>(slots)});
  return nodes;
}

/// All nodes by rank; none where nothing says how many there are.
expected<std::vector<launch_node>> known_nodes(const launch_choice& choice, const scheduler_place& place) {
  if (choice.hostfile) return read_hostfile(*choice.hostfile);
  if (!place.nodes.empty()) return place.nodes;
  if (place.node_count) return numbered_nodes(*place.node_count, choice.filter.num_slots.value_or(1));
  if (choice.filter.num_nodes && uses_join_files(choice, place))
    return numbered_nodes(*choice.filter.num_nodes, choice.filter.num_slots.value_or(1));
  return std::vector<launch_node>{};
}

launch_roles no_part(std::string reason) {
  launch_roles plan;
  plan.reason = std::move(reason);
  return plan;
}

std::uint32_t rank_in(const std::vector<launch_node>& all, const std::string& name) {
  return static_cast<std::uint32_t>(std::ranges::find(all, name, &launch_node::name) - all.begin());
}

class plan_maker {
 public:
  plan_maker(const launch_choice& choice, const scheduler_place& place, const own_host& host,
             std::vector<launch_node> all, std::vector<node_slots> used)
      : choice_(choice), place_(place), host_(host), all_(std::move(all)), used_(std::move(used)) {}

  [[nodiscard]] expected<launch_roles> by_ssh() && {
    launch_roles plan;
    plan.part = launch_part::start_agents;
    plan.nodes = std::move(used_);
    plan.driver_node = find_own_node(plan.nodes, host_);
    return plan;
  }

  [[nodiscard]] expected<launch_roles> by_join_files() && {
    const std::uint32_t rank = choice_.node_rank ? *choice_.node_rank : *place_.node_rank;
    if (!choice_.node_rank && place_.local_rank.value_or(0) > 0) {
      return no_part(
          fmt::format("process {} of this node has nothing to do: the first one does it", *place_.local_rank));
    }
    if (!all_.empty() && rank >= all_.size()) {
      if (!is_open_ended()) return rank_beyond(rank);
      return no_part(fmt::format("node rank {} is not used: --num-nodes is {}", rank, all_.size()));
    }
    return rank == 0 ? as_launcher() : as_agent(rank);
  }

 private:
  /// --num-nodes alone says how many there are.
  [[nodiscard]] bool is_open_ended() const { return !choice_.hostfile && place_.nodes.empty() && !place_.node_count; }

  [[nodiscard]] expected<launch_roles> rank_beyond(std::uint32_t rank) const {
    return fail(error_code::value_out_of_range, "--node-rank",
                fmt::format("is {}, and there are {} nodes", rank, all_.size()),
                fmt::format("give a rank from 0 to {}", all_.size() - 1));
  }

  [[nodiscard]] expected<launch_roles> as_launcher() {
    if (used_.empty()) {
      return missing("--num-nodes", "nothing says how many nodes there are",
                     "add --num-nodes N, or --hostfile FILE with a line per node");
    }
    launch_roles plan;
    plan.part = launch_part::write_join_files;
    plan.join_file = *choice_.join_file;
    for (const node_slots& node : used_) plan.node_ranks.push_back(rank_in(all_, node.name));
    if (plan.node_ranks.front() == 0) plan.driver_node = 0;
    plan.nodes = std::move(used_);
    return plan;
  }

  [[nodiscard]] expected<launch_roles> as_agent(std::uint32_t rank) const {
    const bool is_known = rank < all_.size();
    if (is_known && std::ranges::find(used_, all_[rank].name, &node_slots::name) == used_.end())
      return no_part(fmt::format("node {} is left out", all_[rank].name));
    launch_roles plan;
    plan.part = launch_part::await_join_file;
    plan.join_file = join_file_of(*choice_.join_file, rank);
    plan.node = is_known ? all_[rank].name : fmt::format("node rank {}", rank);
    return plan;
  }

  const launch_choice& choice_;
  const scheduler_place& place_;
  const own_host& host_;
  std::vector<launch_node> all_;
  std::vector<node_slots> used_;
};

}  // namespace

std::string join_file_of(const std::string& prefix, std::uint32_t node_rank) {
  return fmt::format("{}.{}", prefix, node_rank);
}

expected<launch_roles> decide_launch_roles(const launch_choice& choice, const environment_lookup& lookup,
                                           const own_host& host) {
  const auto place = TROUPE_TRY(find_scheduler(lookup));
  TROUPE_TRY(check_choice(choice, place));
  auto all = TROUPE_TRY(known_nodes(choice, place));
  const bool by_files = uses_join_files(choice, place);
  if (all.empty() && !by_files) {
    return missing("--hostfile", "nothing says which nodes there are",
                   "give --hostfile FILE with a line NAME slots=N per node");
  }
  auto used = TROUPE_TRY(all.empty() ? expected<std::vector<node_slots>>() : select_nodes(all, choice.filter));
  plan_maker maker(choice, place, host, std::move(all), std::move(used));
  return by_files ? std::move(maker).by_join_files() : std::move(maker).by_ssh();
}

}  // namespace troupe
