#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/topology/wiring_plan.hpp"

namespace troupe {
namespace {

tl::unexpected<error> no_chain(const wired_node& node, std::string cause) {
  return fail(error_code::topology_invalid, "topology, node " + node.name, std::move(cause),
              "train one pipeline of stages with one sink behind it");
}

/// Stages 0 to S - 1 are the nodes before the source, each with one neighbour on either side and R replicas.
expected<void> check_chain(const wiring_plan& plan) {
  const std::uint32_t replicas = plan.nodes.front().replicas;
  for (const wired_node& node : plan.nodes) {
    if (node.kind == node_kind::source) continue;
    if (node.kind != node_kind::stage) return no_chain(node, "a join or route cannot be trained");
    if (node.replicas != replicas) return no_chain(node, "it has other replicas than the first stage");
  }
  if (!std::has_single_bit(replicas)) {
    return fail(error_code::topology_invalid, "topology, replicas", std::to_string(replicas) + " is no power of two",
                "use 1, 2, 4, 8 ... replicas: gradients are added in a tree (docs/training.md)");
  }
  for (const wired_instance& each : plan.instances) {
    const wired_node& node = plan.nodes[each.address.stage];
    if (node.kind == node_kind::source) continue;
    const bool is_last = each.address.stage + 2 == plan.nodes.size();
    if (each.inbound.size() != 1 || each.outbound.size() != (is_last ? 0 : 1)) {
      return no_chain(node, "it has not one stage before it and one behind it");
    }
    if (node.sinks.empty() == is_last) return no_chain(node, "the last stage has the sink, and no other one has");
  }
  return {};
}

std::size_t add_channel(wiring_plan& plan, std::size_t producer, std::size_t consumer, channel_kind kind) {
  plan.channels.push_back({.producer = producer, .consumer = consumer, .slots = gradient_slots, .kind = kind});
  return plan.channels.size() - 1;
}

/// Against the channel of activations between the same two.
void add_gradients(wiring_plan& plan) {
  for (std::size_t number = 0, count = plan.channels.size(); number < count; ++number) {
    const auto [producer, consumer] = std::pair(plan.channels[number].producer, plan.channels[number].consumer);
    if (plan.nodes[plan.instances[producer].address.stage].kind == node_kind::source) continue;
    const std::size_t added = add_channel(plan, consumer, producer, channel_kind::gradients);
    plan.instances[consumer].gradients_out = plan.instances[producer].gradients_in = added;
  }
}

void add_sums(wiring_plan& plan, std::size_t from, std::size_t to) {
  const std::size_t added = add_channel(plan, from, to, channel_kind::sums);
  plan.instances[from].sums_out.push_back(added);
  plan.instances[to].sums_in.push_back(added);
}

void add_sums(wiring_plan& plan) {
  for (std::size_t from = 0; from < plan.instances.size(); ++from) {
    const stage_index stage = plan.instances[from].address.stage;
    for (replica_index replica = 0; replica < plan.nodes[stage].replicas; ++replica) {
      const std::size_t to = plan.instance_at({stage, replica});
      if (to != from) add_sums(plan, from, to);
    }
  }
}

expected<void> check_channels(const wiring_plan& plan) {
  if (plan.channels.size() <= limits::ranks_max) return {};
  return fail(error_code::topology_invalid, "topology",
              "stages and replicas need more than " + std::to_string(limits::ranks_max) + " edges",
              "use fewer replicas");
}

}  // namespace

expected<void> make_trainable(wiring_plan& plan) {
  TROUPE_TRY(check_chain(plan));
  const std::size_t stages = plan.nodes.size() - 1;
  for (std::size_t stage = 0; stage < stages; ++stage) plan.nodes[stage].fixed_replica = true;
  for (wired_channel& each : plan.channels) {
    const std::size_t live = stages - plan.instances[each.consumer].address.stage;
    each.slots = static_cast<std::uint32_t>(std::min<std::size_t>(live, limits::pipe_buffers_max));
  }
  add_gradients(plan);
  add_sums(plan);
  plan.trains = true;
  return check_channels(plan);
}

expected<void> add_ties(wiring_plan& plan, std::span<const tied_stages> ties) {
  const std::size_t stages = plan.trains ? plan.nodes.size() - 1 : 0;
  const tied_stages* before = nullptr;
  for (const tied_stages& each : ties) {
    if (each.one >= each.other || each.other >= stages || (before != nullptr && !(*before < each))) {
      return fail(error_code::wire_malformed, "topology, tied stages",
                  std::to_string(each.one) + " and " + std::to_string(each.other) + " are no further pair of stages",
                  "run the same version of Troupe everywhere");
    }
    before = &each;
    for (replica_index one = 0; one < plan.nodes[each.one].replicas; ++one) {
      for (replica_index other = 0; other < plan.nodes[each.other].replicas; ++other) {
        const std::size_t first = plan.instance_at({each.one, one});
        const std::size_t second = plan.instance_at({each.other, other});
        add_sums(plan, first, second);
        add_sums(plan, second, first);
      }
    }
    TROUPE_TRY(check_channels(plan));
  }
  return {};
}

}  // namespace troupe
