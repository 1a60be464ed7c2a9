#include "random_graph.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

namespace troupe::testing {
namespace {

/// Which samples an output can hold, seen from afar: of each route the cases that they took. Two outputs are disjoint
/// if there is a route of which they took different cases.
using row_box = std::map<std::size_t, std::uint32_t>;

bool disjoint(const row_box& a, const row_box& b) {
  return std::ranges::any_of(a, [&](const auto& each) {
    const auto found = b.find(each.first);
    return found != b.end() && (found->second & each.second) == 0;
  });
}

/// Holds both and maybe more: too large a box only makes fewer outputs look disjoint.
row_box bounds(const row_box& a, const row_box& b) {
  row_box both;
  for (const auto& [route, cases] : a) {
    if (const auto found = b.find(route); found != b.end()) both[route] = cases | found->second;
  }
  return both;
}

struct output {
  port_name name;
  row_box rows;
  std::size_t consumers = 0;
};

constexpr std::size_t sinks_max = 3;

class graph_maker {
 public:
  graph_maker(std::uint64_t seed, bool with_order) : random_(seed), with_order_(with_order) {
    add_end("loader", node_kind::source);
    outputs_.push_back({{"loader", "out"}, {}});
  }

  stage_graph make() {
    const std::size_t inner = 2 + draw(9);
    for (std::size_t made = 0; made < inner; ++made) add_any(made + 1 == inner);
    if (loose_ends().size() > sinks_max) add_collector();
    add_sinks();
    if (with_order_) mark_ordered();
    return graph();
  }

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }
  bool chance(std::size_t one_in) { return draw(one_in) == 0; }

  std::vector<std::size_t> loose_ends() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].consumers == 0) found.push_back(i);
    }
    return found;
  }
  /// Room for so many more loose ends than there are; with a collector there always is.
  bool has_room_for(std::size_t more) const { return with_order_ || loose_ends().size() + more <= sinks_max; }

  std::size_t pick_output() {
    const auto loose = loose_ends();
    const bool fork = loose.empty() || (chance(4) && has_room_for(1));
    return fork ? draw(outputs_.size()) : loose[draw(loose.size())];
  }

  void add_any(bool last) {
    const bool stage_needed =
        last && std::ranges::none_of(nodes_, [](const graph_node& each) { return each.kind == node_kind::stage; });
    const std::size_t choice = stage_needed ? 0 : draw(10);
    if (choice >= 7 && has_room_for(2)) return add_route();
    if (choice >= 4 && with_order_ && add_join()) return;
    if (choice >= 2 && choice < 4 && with_order_) return add_stage(2 + draw(2));
    add_stage(1);
  }

  void add_stage(std::size_t inputs) {
    std::vector<std::size_t> from;
    row_box rows;
    for (std::size_t i = 0; i < inputs; ++i) {
      from.push_back(pick_output());
      rows = i == 0 ? outputs_[from[i]].rows : bounds(rows, outputs_[from[i]].rows);
    }
    const std::size_t node = add_node(node_kind::stage, from);
    add_output(node, "out", rows);
    if (chance(6) && has_room_for(1)) add_output(node, "other", rows);
  }

  /// Of two or three disjoint outputs, if there are any.
  bool add_join() {
    std::vector<std::size_t> order(outputs_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::shuffle(order, random_);
    for (const std::size_t first : order) {
      std::vector<std::size_t> from = {first};
      row_box rows = outputs_[first].rows;
      for (const std::size_t next : order) {
        const bool fits = std::ranges::all_of(
            from, [&](std::size_t each) { return disjoint(outputs_[each].rows, outputs_[next].rows); });
        if (!fits || from.size() == 3) continue;
        from.push_back(next);
        rows = bounds(rows, outputs_[next].rows);
      }
      if (from.size() < 2) continue;
      add_output(add_node(node_kind::join, from), "out", rows);
      return true;
    }
    return false;
  }

  void add_route() {
    const std::size_t from = pick_output();
    const row_box rows = outputs_[from].rows;
    const std::size_t node = add_node(node_kind::route, {from});
    nodes_[node].covers_all_samples = true;
    for (std::size_t number = 0, cases = with_order_ ? 2 + draw(2) : 2; number < cases; ++number) {
      row_box taken = rows;
      taken[node] = 1u << number;
      add_output(node, "case " + std::to_string(number), taken);
    }
  }

  void add_collector() {
    auto from = loose_ends();
    from.resize(from.size() - draw(sinks_max));
    row_box rows = outputs_[from.front()].rows;
    for (const std::size_t each : from) rows = bounds(rows, outputs_[each].rows);
    add_output(add_node(node_kind::stage, from), "out", rows);
  }

  std::size_t add_node(node_kind kind, const std::vector<std::size_t>& from) {
    const std::size_t node = nodes_.size();
    graph_node made;
    made.name = std::string(node_kind_name(kind)) + " " + std::to_string(node);
    made.kind = kind;
    made.replicas = chance(2) ? 1 : 1 + static_cast<std::uint32_t>(draw(3));
    made.num_pipe_buffers = 1 + static_cast<std::uint32_t>(draw(3));
    made.ordered = with_order_ && chance(12);
    copy_with(made, outputs_[from[draw(from.size())]].name.node);
    for (std::size_t i = 0; i < from.size(); ++i) {
      made.inputs.push_back("in " + std::to_string(i));
      edges_.push_back({outputs_[from[i]].name, {made.name, made.inputs.back()}});
      ++outputs_[from[i]].consumers;
    }
    nodes_.push_back(std::move(made));
    return node;
  }

  /// Half of the nodes behind replicas become one pipeline with them.
  void copy_with(graph_node& made, const std::string& before) {
    const auto producer = std::ranges::find(nodes_, before, &graph_node::name);
    if (producer->replicas == 1 || chance(2)) return;
    if (producer->pipeline_group.empty()) producer->pipeline_group = "group of " + before;
    made.pipeline_group = producer->pipeline_group;
    made.replicas = producer->replicas;
  }

  void add_output(std::size_t node, const std::string& port, row_box rows) {
    nodes_[node].outputs.push_back(port);
    outputs_.push_back({{nodes_[node].name, port}, std::move(rows)});
  }

  void add_end(const std::string& name, node_kind kind) {
    graph_node made;
    made.name = name;
    made.kind = kind;
    nodes_.push_back(std::move(made));
  }

  void add_sinks() {
    auto scored = loose_ends();
    while (scored.size() < sinks_max && chance(3)) {
      const std::size_t more = 1 + draw(outputs_.size() - 1);  // nothing scores the loader
      if (std::ranges::find(scored, more) == scored.end()) scored.push_back(more);
    }
    std::ranges::shuffle(scored, random_);
    for (const std::size_t each : scored) {
      const std::string name = "sink " + std::to_string(nodes_.size());
      add_end(name, node_kind::sink);
      edges_.push_back({outputs_[each].name, {name, "in"}});
    }
  }

  /// Until nothing waits for ids in order behind a node that mixes them: that node keeps order, or one before it that
  /// mixes them too.
  void mark_ordered() {
    for (;;) {
      const stage_graph now = graph();
      const auto broken = std::ranges::find_if(edges_, [&](const graph_edge& edge) {
        return now.nodes()[now.find(edge.to.node)].keeps_order() && !emits_in_order(now, now.find(edge.from.node));
      });
      if (broken == edges_.end()) return;
      std::size_t marked = now.find(broken->from.node);
      for (const graph_edge& edge : edges_) {
        const bool mixes_too = edge.to.node == nodes_[marked].name && !emits_in_order(now, now.find(edge.from.node));
        if (mixes_too && chance(2)) marked = now.find(edge.from.node);
      }
      nodes_[marked].ordered = true;
    }
  }

  stage_graph graph() const {
    stage_graph made;
    for (const graph_node& each : nodes_) made.add(each);
    for (const graph_edge& each : edges_) made.connect_ports(each.from, each.to);
    return made;
  }

  std::mt19937_64 random_;
  const bool with_order_;
  std::vector<graph_node> nodes_;
  std::vector<graph_edge> edges_;
  std::vector<output> outputs_;
};

}  // namespace

stage_graph random_graph(std::uint64_t seed) {
  return graph_maker(seed, true).make();
}

stage_graph random_tree(std::uint64_t seed) {
  return graph_maker(seed, false).make();
}

std::string describe(const stage_graph& graph) {
  std::ostringstream text;
  for (const graph_node& node : graph.nodes()) {
    if (node.kind == node_kind::source || node.kind == node_kind::sink) continue;
    text << "  " << node.name << ": " << node.replicas << " replicas, " << node.num_pipe_buffers << " buffers"
         << (node.ordered ? ", ordered" : "") << (node.pipeline_group.empty() ? "" : ", in ") << node.pipeline_group
         << '\n';
  }
  for (const graph_edge& edge : graph.edges()) {
    text << "  " << edge.from.node << '.' << edge.from.port << " -> " << edge.to.node << '.' << edge.to.port << '\n';
  }
  return text.str();
}

}  // namespace troupe::testing
