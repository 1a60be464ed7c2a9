#include <algorithm>
#include <map>
#include <utility>

#include <troupe/runtime/engine/make_wiring.hpp>

namespace troupe {
namespace {

bool is_source(const wiring_plan& plan, std::size_t instance) {
  return plan.nodes[plan.instances[instance].address.stage].kind == node_kind::source;
}

/// The node and its port: what its replicas have in common.
using branch_key = std::pair<stage_index, std::uint32_t>;

void wire_producer(const wiring_plan& plan, std::size_t producer, edge_factory& edges, const wiring_request& request,
                   std::vector<engine_wiring>& made) {
  std::map<branch_key, std::size_t> branches;
  for (const std::size_t number : plan.instances[producer].outbound) {
    const wired_channel& channel = plan.channels[number];
    if (!request.present[channel.consumer]) continue;
    const branch_key key{plan.instances[channel.consumer].address.stage, channel.input_port};
    if (!branches.contains(key)) {
      branches[key] = made[producer].outbound.add_branch(
          {.port = channel.output_port, .fixed_replica = plan.nodes[key.first].fixed_replica});
    }
    const std::uint32_t slots = slots_of(plan, channel, request.prefetch_slots);
    // The loader is cheap in bursts and dear to wake: it sleeps until half of a replica's slots are free.
    edge_ends ends = edges.make({.slots = slots,
                                 .producer_bell = &request.bell(producer),
                                 .consumer_bell = &request.bell(channel.consumer),
                                 .credits_per_ring = is_source(plan, producer) ? std::max(1u, slots / 2) : 1});
    made[channel.consumer].inbound.push_back({channel.input_port, std::move(ends.consumer)});
    made[producer].outbound.add_edge(branches[key], std::move(ends.producer));
  }
}

/// Whether one of the channels of each port, or of each branch, has its other end there.
template <class Key, class Other>
bool has_peers(const wiring_plan& plan, const std::vector<std::size_t>& channels, const std::vector<bool>& there,
               Key key_of, Other other_end) {
  std::map<branch_key, bool> reached;
  for (const std::size_t number : channels) {
    const wired_channel& channel = plan.channels[number];
    bool& found = reached[key_of(channel)];
    found = found || there[other_end(channel)];
  }
  return std::ranges::all_of(reached, [](const auto& each) { return each.second; });
}

bool can_work(const wiring_plan& plan, std::size_t instance, const std::vector<bool>& there) {
  const wired_instance& one = plan.instances[instance];
  const auto port = [](const wired_channel& channel) { return branch_key{0, channel.input_port}; };
  const auto branch = [&](const wired_channel& channel) {
    return branch_key{plan.instances[channel.consumer].address.stage, channel.input_port};
  };
  if (!has_peers(plan, one.inbound, there, port, [](const wired_channel& each) { return each.producer; })) return false;
  if (!has_peers(plan, one.outbound, there, branch, [](const wired_channel& each) { return each.consumer; })) {
    return false;
  }
  if (!plan.nodes[one.address.stage].fixed_replica) return true;
  for (std::size_t peer = 0; peer < there.size(); ++peer) {
    if (plan.instances[peer].address.stage == one.address.stage && !there[peer]) return false;
  }
  return true;
}

}  // namespace

std::uint32_t slots_of(const wiring_plan& plan, const wired_channel& channel, std::uint32_t prefetch_slots) {
  if (!is_source(plan, channel.producer)) return channel.slots;
  const wired_node& consumer = plan.nodes[plan.instances[channel.consumer].address.stage];
  return std::max(consumer.num_pipe_buffers, prefetch_slots);
}

std::vector<bool> usable_instances(const wiring_plan& plan, std::vector<bool> there) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t instance = 0; instance < there.size(); ++instance) {
      if (!there[instance] || can_work(plan, instance, there)) continue;
      there[instance] = false;
      changed = true;
    }
  }
  return there;
}

bool serves_every_node(const wiring_plan& plan, const std::vector<bool>& usable) {
  std::vector<bool> served(plan.nodes.size(), false);
  for (std::size_t instance = 0; instance < usable.size(); ++instance) {
    if (usable[instance]) served[plan.instances[instance].address.stage] = true;
  }
  return std::ranges::all_of(served, [](bool each) { return each; });
}

std::vector<engine_wiring> make_wiring(const wiring_plan& plan, edge_factory& edges, const wiring_request& request) {
  std::vector<engine_wiring> made(plan.instances.size());
  for (std::size_t producer = 0; producer < plan.instances.size(); ++producer) {
    if (request.present[producer]) wire_producer(plan, producer, edges, request, made);
  }
  return made;
}

}  // namespace troupe
