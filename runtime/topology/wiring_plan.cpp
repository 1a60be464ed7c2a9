#include <algorithm>

#include <fmt/format.h>

#include <troupe/messages/check.hpp>
#include <troupe/runtime/topology/wiring_plan.hpp>

namespace troupe {
namespace {

class expansion {
 public:
  expansion(const stage_graph& graph, const std::vector<std::size_t>& order) : graph_(graph), order_(order) {}

  expected<wiring_plan> run() {
    add_nodes(node_kind::stage);
    add_nodes(node_kind::source);
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

  void add_nodes(node_kind kind) {
    for (const std::size_t index : order_) {
      const graph_node& node = graph_.nodes()[index];
      if (node.kind != kind) {
        continue;
      }
      const auto number = static_cast<stage_index>(plan_.nodes.size());
      groups_.push_back(node.pipeline_group);
      plan_.nodes.push_back({node.name, node.kind, node.replicas, node.num_pipe_buffers, {}});
      for (replica_index r = 0; r < node.replicas; ++r) {
        plan_.instances.push_back({{number, r}, node.placements.empty() ? placement{} : node.placements[r], {}, {}});
      }
    }
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
      plan_.sinks.push_back({node.name, static_cast<stage_index>(stage)});
    }
  }

  void add_channels() {
    for (std::size_t from = 0; from < plan_.nodes.size(); ++from) {
      std::vector<std::size_t> next = successors(plan_.nodes[from].name);
      std::sort(next.begin(), next.end());
      for (replica_index r = 0; r < plan_.nodes[from].replicas; ++r) {
        for (const std::size_t to : next) {
          connect_replica(from, r, to);
        }
      }
    }
  }

  std::vector<std::size_t> successors(const std::string& name) const {
    std::vector<std::size_t> next;
    for (const graph_edge& edge : graph_.edges()) {
      if (edge.from.node == name && graph_.nodes()[graph_.find(edge.to.node)].kind == node_kind::stage) {
        next.push_back(wired_index(edge.to.node));
      }
    }
    return next;
  }

  void connect_replica(std::size_t from, replica_index replica, std::size_t to) {
    const bool parallel = !groups_[from].empty() && groups_[from] == groups_[to];
    const std::size_t producer = plan_.instance_at({static_cast<stage_index>(from), replica});
    const std::size_t first = plan_.instance_at({static_cast<stage_index>(to), 0});
    for (replica_index r = 0; r < plan_.nodes[to].replicas && channels_left(); ++r) {
      if (!parallel || r == replica) {
        connect(producer, first + r);
      }
    }
  }

  /// One more than allowed is made, so that run() sees that there were too many.
  bool channels_left() const { return plan_.channels.size() <= limits::ranks_max; }

  void connect(std::size_t producer, std::size_t consumer) {
    const auto node_at = [&](std::size_t i) -> const wired_node& {
      return plan_.nodes[plan_.instances[i].address.stage];
    };
    std::uint32_t slots = node_at(consumer).num_pipe_buffers;
    if (node_at(producer).kind == node_kind::source) {
      slots = std::max(slots, limits::prefetch_slots);
    }
    plan_.instances[producer].outbound.push_back(plan_.channels.size());
    plan_.instances[consumer].inbound.push_back(plan_.channels.size());
    plan_.channels.push_back({producer, consumer, slots});
  }

  const stage_graph& graph_;
  const std::vector<std::size_t>& order_;
  wiring_plan plan_;
  /// Of every wired node.
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

}  // namespace troupe
