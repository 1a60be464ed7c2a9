#include "runtime/topology/wiring_plan.hpp"

#include <algorithm>
#include <compare>

#include <fmt/format.h>

#include "messages/check.hpp"

namespace troupe {
namespace {

class expansion {
 public:
  expansion(const stage_graph& graph, const std::vector<std::size_t>& order) : graph_(graph), order_(order) {}

  expected<wiring_plan> run() {
    add_nodes(false);
    add_nodes(true);
    add_sinks();
    add_channels();
    if (plan_.channels.size() > limits::ranks_max) {
      return fail(error_code::topology_invalid, "topology",
                  fmt::format("the replicas need more than {} edges", limits::ranks_max),
                  "use fewer replicas, or put the stages into one pipeline group");
    }
    return std::move(plan_);
  }

 private:
  std::size_t wired_index(const std::string& name) const {
    const auto found =
        std::find_if(plan_.nodes.begin(), plan_.nodes.end(), [&](const auto& n) { return n.name == name; });
    TROUPE_CHECK(found != plan_.nodes.end(), "a validated edge leads from and to nodes of the graph");
    return static_cast<std::size_t>(found - plan_.nodes.begin());
  }

  void add_nodes(bool sources) {
    for (const std::size_t index : order_) {
      const graph_node& node = graph_.nodes()[index];
      if (node.kind == node_kind::sink || (node.kind == node_kind::source) != sources) {
        continue;
      }
      const auto number = static_cast<stage_index>(plan_.nodes.size());
      groups_.push_back(node.pipeline_group);
      plan_.nodes.push_back({.name = node.name,
                             .kind = node.kind,
                             .replicas = node.replicas,
                             .num_pipe_buffers = node.num_pipe_buffers.value_or(limits::pipe_buffers_default),
                             .names_pipe_buffers = node.num_pipe_buffers.has_value(),
                             .sinks = {},
                             .inputs = node.inputs,
                             .outputs = node.outputs,
                             .keeps_order = node.keeps_order(),
                             .fixed_replica = gets_fixed_ids(node)});
      for (replica_index r = 0; r < node.replicas; ++r) {
        plan_.instances.push_back({{number, r}, {}, {}});
      }
    }
  }

  bool gets_fixed_ids(const graph_node& node) const {
    return std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const graph_node& other) {
      const bool together = !node.pipeline_group.empty() && node.pipeline_group == other.pipeline_group;
      return other.keeps_order() && (together || other.name == node.name);
    });
  }

  static std::uint32_t port_number(const std::vector<std::string>& ports, const std::string& port) {
    return static_cast<std::uint32_t>(std::find(ports.begin(), ports.end(), port) - ports.begin());
  }

  void add_sinks() {
    for (const graph_node& node : graph_.nodes()) {
      if (node.kind != node_kind::sink) {
        continue;
      }
      const auto edge = std::find_if(graph_.edges().begin(), graph_.edges().end(),
                                     [&](const graph_edge& e) { return e.to.node == node.name; });
      const std::size_t stage = wired_index(edge->from.node);
      plan_.nodes[stage].sinks.push_back(static_cast<std::uint32_t>(plan_.sinks.size()));
      plan_.sinks.push_back(
          {node.name, static_cast<stage_index>(stage), port_number(plan_.nodes[stage].outputs, edge->from.port)});
    }
  }

  /// An edge of the graph between two wired nodes.
  struct link {
    std::size_t to = 0;
    std::uint32_t input_port = 0;
    std::uint32_t output_port = 0;
    friend auto operator<=>(const link&, const link&) = default;
  };

  void add_channels() {
    for (std::size_t from = 0; from < plan_.nodes.size(); ++from) {
      const std::vector<link> links = links_from(from);
      for (replica_index r = 0; r < plan_.nodes[from].replicas; ++r) {
        for (const link& each : links) {
          connect_replica(from, r, each);
        }
      }
    }
  }

  std::vector<link> links_from(std::size_t from) const {
    std::vector<link> links;
    for (const graph_edge& edge : graph_.edges()) {
      if (edge.from.node == plan_.nodes[from].name &&
          graph_.nodes()[graph_.find(edge.to.node)].kind != node_kind::sink) {
        const std::size_t to = wired_index(edge.to.node);
        links.push_back({to, port_number(plan_.nodes[to].inputs, edge.to.port),
                         port_number(plan_.nodes[from].outputs, edge.from.port)});
      }
    }
    std::sort(links.begin(), links.end());
    return links;
  }

  void connect_replica(std::size_t from, replica_index replica, const link& by) {
    const bool parallel = !groups_[from].empty() && groups_[from] == groups_[by.to];
    const std::size_t producer = plan_.instance_at({static_cast<stage_index>(from), replica});
    const std::size_t first = plan_.instance_at({static_cast<stage_index>(by.to), 0});
    for (replica_index r = 0; r < plan_.nodes[by.to].replicas && channels_left(); ++r) {
      if (!parallel || r == replica) {
        connect(producer, first + r, by);
      }
    }
  }

  /// One more than allowed is made, so that run() sees that there were too many.
  bool channels_left() const { return plan_.channels.size() <= limits::ranks_max; }

  void connect(std::size_t producer, std::size_t consumer, const link& by) {
    const auto node_at = [&](std::size_t i) -> const wired_node& {
      return plan_.nodes[plan_.instances[i].address.stage];
    };
    std::uint32_t slots = node_at(consumer).num_pipe_buffers;
    if (node_at(producer).kind == node_kind::source) {
      slots = std::max(slots, limits::prefetch_slots);
    }
    plan_.instances[producer].outbound.push_back(plan_.channels.size());
    plan_.instances[consumer].inbound.push_back(plan_.channels.size());
    plan_.channels.push_back({producer, consumer, slots, by.output_port, by.input_port});
  }

  const stage_graph& graph_;
  const std::vector<std::size_t>& order_;
  wiring_plan plan_;
  /// The pipeline of every wired node.
  std::vector<std::string> groups_;
};

}  // namespace

std::size_t wiring_plan::instance_at(stage_address address) const {
  const auto found = std::lower_bound(instances.begin(), instances.end(), address,
                                      [](const wired_instance& i, stage_address a) { return i.address < a; });
  TROUPE_CHECK(found != instances.end() && found->address == address, "an address names an instance of the plan");
  return static_cast<std::size_t>(found - instances.begin());
}

expected<wiring_plan> expand(const stage_graph& graph) {
  return validate(graph).and_then([&] { return topological_order(graph); }).and_then([&](const auto& order) {
    return expansion(graph, order).run();
  });
}

std::string channel_name(const wiring_plan& plan, std::size_t channel) {
  const auto name = [&](std::size_t instance) { return plan.nodes[plan.instances[instance].address.stage].name; };
  return "edge " + name(plan.channels[channel].producer) + " -> " + name(plan.channels[channel].consumer);
}

// Channels are ordered by producer, and nodes are in topological order.
std::vector<bool> nodes_with_parts(const wiring_plan& plan) {
  std::vector<bool> found;
  for (const wired_node& each : plan.nodes) found.push_back(each.kind == node_kind::route);
  for (const wired_channel& each : plan.channels) {
    if (found[plan.instances[each.producer].address.stage]) found[plan.instances[each.consumer].address.stage] = true;
  }
  return found;
}

}  // namespace troupe
