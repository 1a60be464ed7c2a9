#include "tests/protocol/graphs.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace troupe::testing {
namespace {

using renaming = std::vector<std::uint8_t>;

/// Node by node: what it is and whom it takes from, under new names; equal for two graphs if one is the other renamed.
std::vector<std::uint32_t> encode(const flow_graph& graph, const renaming& new_name) {
  std::vector<std::uint32_t> code(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const flow_node& node = graph.nodes[n];
    std::uint32_t word = node.replicas * 4u + (node.ordered ? 2u : 0u) + (node.has_sink ? 1u : 0u);
    for (const std::uint8_t input : node.inputs) word |= 1u << (8 + new_name[input]);
    code[new_name[n]] = word;
  }
  return code;
}

std::vector<std::uint32_t> canonical(const flow_graph& graph) {
  renaming new_name(graph.nodes.size());
  std::iota(new_name.begin(), new_name.end(), std::uint8_t{0});
  auto least = encode(graph, new_name);
  while (std::next_permutation(new_name.begin() + 1, new_name.end())) least = std::min(least, encode(graph, new_name));
  return least;
}

std::vector<std::uint8_t> members(std::uint32_t mask) {
  std::vector<std::uint8_t> found;
  for (std::uint8_t bit = 0; bit < 32; ++bit) {
    if ((mask >> bit & 1u) != 0) found.push_back(bit);
  }
  return found;
}

std::uint32_t mask_of(const std::vector<std::uint8_t>& inputs) {
  std::uint32_t mask = 0;
  for (const std::uint8_t input : inputs) mask |= 1u << input;
  return mask;
}

/// Builds graphs node by node, and keeps those that are new and have the wanted number of nodes.
class enumeration {
 public:
  enumeration(std::size_t inner, std::size_t sinks, std::size_t copied_max)
      : inner_(inner), sinks_(sinks), copied_max_(copied_max) {
    graph_.nodes.emplace_back();
  }

  std::vector<flow_graph> run() {
    choose_node();
    return std::move(found_);
  }

 private:
  void choose_node() {
    const std::size_t next = graph_.nodes.size();
    if (next > inner_) return choose_sinks(1, sinks_);
    for (std::uint32_t mask = 1; mask < 1u << next; ++mask) {
      if (comes_too_late(mask)) continue;
      for (const std::uint8_t replicas : {std::uint8_t{1}, std::uint8_t{2}}) {
        for (const bool ordered : {false, true})
          add({.inputs = members(mask), .ordered = ordered, .replicas = replicas});
      }
    }
  }

  /// Of two neighbours that could change places the one with the smaller mask is first: true of the renaming with the
  /// least sequence of masks, so every graph is still built, and most of its renamings are not.
  [[nodiscard]] bool comes_too_late(std::uint32_t mask) const {
    const std::size_t previous = graph_.nodes.size() - 1;
    return previous > 0 && (mask >> previous & 1u) == 0 && mask < mask_of(graph_.nodes[previous].inputs);
  }

  void add(const flow_node& node) {
    const bool alone = node.replicas == 1 && graph_.nodes[node.inputs.front()].replicas == 1;
    const std::size_t copied = node.replicas > 1 ? 1 : 0;
    if (node.ordered && (node.inputs.size() > 1 || alone)) return;
    if (copied > copied_max_) return;
    copied_max_ -= copied;
    graph_.nodes.push_back(node);
    choose_node();
    graph_.nodes.pop_back();
    copied_max_ += copied;
  }

  void choose_sinks(std::size_t node, std::size_t left) {
    if (node > inner_) {
      if (left == 0 && seen_.insert(canonical(graph_)).second) found_.push_back(graph_);
      return;
    }
    const bool leads_on = std::ranges::any_of(graph_.nodes, [&](const flow_node& other) {
      return std::ranges::find(other.inputs, node) != other.inputs.end();
    });
    if (leads_on) choose_sinks(node + 1, left);
    if (left == 0) return;
    graph_.nodes[node].has_sink = true;
    choose_sinks(node + 1, left - 1);
    graph_.nodes[node].has_sink = false;
  }

  std::size_t inner_;
  std::size_t sinks_;
  std::size_t copied_max_;
  flow_graph graph_;
  std::set<std::vector<std::uint32_t>> seen_;
  std::vector<flow_graph> found_;
};

}  // namespace

std::size_t flow_graph::node_count() const noexcept {
  return nodes.size() + static_cast<std::size_t>(std::ranges::count_if(nodes, &flow_node::has_sink));
}

std::string to_string(const flow_graph& graph) {
  std::string text = "[" + graph.name + "]";
  for (std::size_t n = 1; n < graph.nodes.size(); ++n) {
    const flow_node& node = graph.nodes[n];
    text += " " + std::to_string(n);
    if (node.replicas > 1) text += "x" + std::to_string(node.replicas);
    if (node.ordered) text += "!";
    if (node.is_lane) text += "=";
    text += "<-";
    for (const std::uint8_t input : node.inputs) text += std::to_string(input) + ",";
    text.pop_back();
    if (node.has_sink) text += " +sink";
  }
  return text;
}

bool emits_in_order(const flow_graph& graph, std::size_t node) {
  const flow_node& each = graph.nodes[node];
  if (each.inputs.empty() || each.keeps_order()) return true;
  const std::size_t producer = each.inputs.front();
  return (graph.nodes[producer].replicas == 1 || each.is_lane) && emits_in_order(graph, producer);
}

bool is_accepted(const flow_graph& graph) {
  return std::ranges::all_of(graph.nodes, [&](const flow_node& node) {
    return !node.keeps_order() ||
           std::ranges::all_of(node.inputs, [&](std::uint8_t input) { return emits_in_order(graph, input); });
  });
}

std::vector<flow_graph> all_graphs(std::size_t nodes, std::size_t copied_max) {
  std::vector<flow_graph> all;
  for (std::size_t sinks = 1; 2 * sinks < nodes; ++sinks) {
    auto some = enumeration(nodes - 1 - sinks, sinks, copied_max).run();
    for (flow_graph& graph : some) {
      graph.name = std::to_string(nodes) + " nodes, " + std::to_string(all.size());
      all.push_back(std::move(graph));
    }
  }
  return all;
}

}  // namespace troupe::testing
