#include "tests/protocol/network.hpp"

#include "messages/check.hpp"

namespace troupe::testing {
namespace {

class expansion {
 public:
  explicit expansion(const flow_graph& graph) : graph_(graph) {}

  flow_network run() {
    for (std::size_t node = 0; node < graph_.nodes.size(); ++node) add_replicas(node);
    for (const flow_node& node : graph_.nodes) {
      for (std::size_t port = 0; port < node.inputs.size(); ++port) connect(node, port);
    }
    return std::move(made_);
  }

 private:
  void add_replicas(std::size_t node) {
    const flow_node& each = graph_.nodes[node];
    first_.push_back(made_.instances.size());
    for (std::uint8_t replica = 0; replica < each.replicas; ++replica) {
      made_.instances.push_back({.node = static_cast<std::uint8_t>(node),
                                 .replica = replica,
                                 .replicas = each.replicas,
                                 .keeps_order = each.keeps_order(),
                                 .ports = std::vector<std::vector<std::uint8_t>>(each.inputs.size()),
                                 .branches = {},
                                 .sink = each.has_sink ? made_.sinks : -1});
    }
    if (each.has_sink) ++made_.sinks;
  }

  /// The port is one more branch of its producer, in each of the producer's replicas.
  void connect(const flow_node& consumer, std::size_t port) {
    const flow_node& producer = graph_.nodes[consumer.inputs[port]];
    TROUPE_CHECK(!consumer.is_lane || consumer.replicas == producer.replicas, "a group has equally many of each");
    const auto to = static_cast<std::size_t>(&consumer - graph_.nodes.data());
    for (std::uint8_t sender = 0; sender < producer.replicas; ++sender) {
      const std::size_t from = first_[consumer.inputs[port]] + sender;
      flow_branch branch{.edges = {}, .is_fixed = consumer.keeps_order() && !consumer.is_lane};
      for (std::uint8_t receiver = 0; receiver < consumer.replicas; ++receiver) {
        if (consumer.is_lane && receiver != sender) continue;
        branch.edges.push_back(add_edge(from, first_[to] + receiver, port));
      }
      made_.instances[from].branches.push_back(std::move(branch));
    }
  }

  std::uint8_t add_edge(std::size_t from, std::size_t to, std::size_t port) {
    const auto edge = static_cast<std::uint8_t>(made_.edges.size());
    made_.edges.push_back({static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)});
    made_.instances[to].ports[port].push_back(edge);
    return edge;
  }

  const flow_graph& graph_;
  std::vector<std::size_t> first_;
  flow_network made_;
};

}  // namespace

std::uint8_t flow_instance::first_id(std::uint8_t mark) const noexcept {
  const auto ahead = static_cast<std::uint8_t>((replica + replicas - mark % replicas) % replicas);
  return static_cast<std::uint8_t>(mark + ahead);
}

flow_network expand(const flow_graph& graph) {
  return expansion(graph).run();
}

}  // namespace troupe::testing
