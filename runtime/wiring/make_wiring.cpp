#include "runtime/wiring/make_wiring.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

bool is_source(const wiring_plan& plan, std::size_t instance) {
  return plan.nodes[plan.instances[instance].address.stage].kind == node_kind::source;
}

/// Whether the producer of the channel chooses between this consumer and other replicas of the node.
bool has_choice(const wiring_plan& plan, const wired_channel& channel) {
  const stage_index to = plan.instances[channel.consumer].address.stage;
  if (plan.nodes[to].fixed_replica) return false;
  const auto is_there = [&](std::size_t other) {
    return other != channel.consumer && plan.instances[other].address.stage == to;
  };
  return std::ranges::any_of(plan.instances[channel.producer].outbound,
                             [&](std::size_t other) { return is_there(plan.channels[other].consumer); });
}

/// A node and its port, which the channels to its replicas have in common.
using branch_key = std::pair<stage_index, std::uint32_t>;

/// Whether, for each key (a port or a branch), the other end of one of its channels is there.
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

bool follows_size(const wiring_plan& plan, const wired_channel& channel) {
  const wired_node& consumer = plan.nodes[plan.instances[channel.consumer].address.stage];
  return !plan.trains && !is_source(plan, channel.producer) && !consumer.names_pipe_buffers &&
         !has_choice(plan, channel);
}

std::uint32_t slots_of(const wiring_plan& plan, const wired_channel& channel, const edge_depths& depths) {
  const wired_node& consumer = plan.nodes[plan.instances[channel.consumer].address.stage];
  if (plan.trains && !is_source(plan, channel.producer)) return channel.slots;
  if (is_source(plan, channel.producer)) {
    const std::uint32_t at_least = std::max(consumer.num_pipe_buffers, depths.from_loader);
    return plan.trains ? std::max(at_least, channel.slots) : at_least;
  }
  return follows_size(plan, channel) ? std::max(channel.slots, depths.between_stages) : channel.slots;
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

instance_edges ends_of(const wiring_plan& plan, std::size_t instance, const std::vector<bool>& present) {
  instance_edges ends;
  for (const std::size_t number : plan.instances[instance].inbound) {
    if (present[plan.channels[number].producer]) ends.inbound.push_back(number);
  }
  std::map<branch_key, std::size_t> branches;
  for (const std::size_t number : plan.instances[instance].outbound) {
    const wired_channel& channel = plan.channels[number];
    if (!present[channel.consumer]) continue;
    const branch_key key{plan.instances[channel.consumer].address.stage, channel.input_port};
    if (branches.try_emplace(key, ends.outbound.size()).second) {
      const branch_options options{.port = channel.output_port, .fixed_replica = plan.nodes[key.first].fixed_replica};
      ends.outbound.push_back({options, {}});
    }
    ends.outbound[branches[key]].channels.push_back(number);
  }
  // A replica of a training run is usable only while all its neighbours are.
  const wired_instance& one = plan.instances[instance];
  ends.gradients_in = one.gradients_in;
  ends.gradients_out = one.gradients_out;
  ends.sums_in = one.sums_in;
  ends.sums_out = one.sums_out;
  return ends;
}

std::vector<std::size_t> instance_edges::all() const {
  std::vector<std::size_t> found = inbound;
  for (const branch& each : outbound) found.insert(found.end(), each.channels.begin(), each.channels.end());
  if (gradients_in) found.push_back(*gradients_in);
  if (gradients_out) found.push_back(*gradients_out);
  found.insert(found.end(), sums_in.begin(), sums_in.end());
  found.insert(found.end(), sums_out.begin(), sums_out.end());
  std::ranges::sort(found);
  return found;
}

// To wake the loader costs much compared with what it does for one micro-batch. So it sleeps until half of a replica's
// slots are free, and then fills them at once. Where the run trains, the first stage waits for its next micro-batch
// while it keeps all but one of those that may live there, so that no more than the other slots can be free then.
edge_options shape_of(const wiring_plan& plan, std::size_t channel, const edge_depths& depths) {
  const wired_channel& one = plan.channels[channel];
  const std::uint32_t slots = slots_of(plan, one, depths);
  if (!is_source(plan, one.producer)) return {.slots = slots, .credits_per_ring = 1};
  const std::uint32_t free_at_most = plan.trains ? slots - one.slots + 1 : slots;
  return {.slots = slots, .credits_per_ring = std::clamp(slots / 2, 1u, free_at_most)};
}

expected<engine_wiring> wire_instance(const wiring_plan& plan, const instance_edges& ends, const edge_opener& make) {
  engine_wiring made;
  for (const std::size_t channel : ends.inbound) {
    auto end = TROUPE_TRY(make.consumer(channel));
    made.inbound.push_back({plan.channels[channel].input_port, std::move(end)});
  }
  for (const instance_edges::branch& each : ends.outbound) {
    const std::size_t branch = made.outbound.add_branch(each.options);
    for (const std::size_t channel : each.channels) {
      auto end = TROUPE_TRY(make.producer(channel));
      made.outbound.add_edge(branch, std::move(end));
    }
  }
  if (ends.gradients_in) made.gradients_in = TROUPE_TRY(make.consumer(*ends.gradients_in));
  if (ends.gradients_out) made.gradients_out = TROUPE_TRY(make.producer(*ends.gradients_out));
  for (std::size_t peer = 0; peer < ends.sums_in.size(); ++peer) {
    engine_wiring::peer one;
    one.address = plan.instances[plan.channels[ends.sums_in[peer]].producer].address;
    one.to = TROUPE_TRY(make.producer(ends.sums_out[peer]));
    one.from = TROUPE_TRY(make.consumer(ends.sums_in[peer]));
    made.peers.push_back(std::move(one));
  }
  return made;
}

std::vector<engine_wiring> make_wiring(const wiring_plan& plan, edge_factory& edges, const wiring_request& request) {
  std::map<std::size_t, edge_ends> both;
  const auto ends_at = [&](std::size_t channel) -> edge_ends& {
    const auto [found, is_new] = both.try_emplace(channel);
    if (is_new) {
      edge_options options = shape_of(plan, channel, request.depths);
      options.producer_bell = &request.bell(plan.channels[channel].producer);
      options.consumer_bell = &request.bell(plan.channels[channel].consumer);
      found->second = edges.make(options);
    }
    return found->second;
  };
  const edge_opener make{.consumer = [&](std::size_t channel) { return std::move(ends_at(channel).consumer); },
                         .producer = [&](std::size_t channel) { return std::move(ends_at(channel).producer); }};
  std::vector<engine_wiring> made;
  for (std::size_t instance = 0; instance < plan.instances.size(); ++instance) {
    const instance_edges ends = request.present[instance] ? ends_of(plan, instance, request.present) : instance_edges{};
    auto one = wire_instance(plan, ends, make);
    TROUPE_CHECK(one.has_value(), "ends that exist are only handed over");
    made.push_back(std::move(*one));
  }
  return made;
}

}  // namespace troupe
