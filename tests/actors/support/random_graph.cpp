#include "random_graph.hpp"

#include <algorithm>
#include <random>
#include <sstream>

#include "graph_draft.hpp"
#include "runtime/topology/stage_graph.hpp"

namespace troupe::testing {
namespace {

constexpr std::size_t sinks_max = 3;

class graph_maker {
 public:
  graph_maker(std::uint64_t seed, bool with_order) : random_(seed), with_order_(with_order) {
    draft_.add_end("loader", node_kind::source);
    draft_.add_output(0, "out", {});
  }

  stage_graph make() {
    const std::size_t inner = 2 + draw(9);
    for (std::size_t made = 0; made < inner; ++made) add_any(made + 1 == inner);
    if (draft_.loose_ends().size() > sinks_max) add_collector();
    add_sinks();
    if (with_order_) draft_.mark_ordered(random_);
    return draft_.graph();
  }

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }
  bool chance(std::size_t one_in) { return draw(one_in) == 0; }

  /// Room for so many more loose ends than there are; with a collector there always is.
  bool has_room_for(std::size_t more) const { return with_order_ || draft_.loose_ends().size() + more <= sinks_max; }

  std::size_t pick_output() {
    const auto loose = draft_.loose_ends();
    const bool fork = loose.empty() || (chance(4) && has_room_for(1));
    return fork ? draw(draft_.outputs.size()) : loose[draw(loose.size())];
  }

  void add_any(bool last) {
    const bool stage_needed = last && std::ranges::none_of(draft_.nodes, [](const graph_node& each) {
                                return each.kind == node_kind::stage;
                              });
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
      rows = i == 0 ? draft_.outputs[from[i]].rows : bounds(rows, draft_.outputs[from[i]].rows);
    }
    const std::size_t node = add_node(node_kind::stage, from);
    draft_.add_output(node, "out", rows);
    if (chance(6) && has_room_for(1)) draft_.add_output(node, "other", rows);
  }

  /// Of two or three disjoint outputs, if there are any.
  bool add_join() {
    std::vector<std::size_t> order(draft_.outputs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::shuffle(order, random_);
    for (const std::size_t first : order) {
      std::vector<std::size_t> from = {first};
      row_box rows = draft_.outputs[first].rows;
      for (const std::size_t next : order) {
        const bool fits = std::ranges::all_of(
            from, [&](std::size_t each) { return disjoint(draft_.outputs[each].rows, draft_.outputs[next].rows); });
        if (!fits || from.size() == 3) continue;
        from.push_back(next);
        rows = bounds(rows, draft_.outputs[next].rows);
      }
      if (from.size() < 2) continue;
      draft_.add_output(add_node(node_kind::join, from), "out", rows);
      return true;
    }
    return false;
  }

  void add_route() {
    const std::size_t from = pick_output();
    const row_box rows = draft_.outputs[from].rows;
    const std::size_t node = add_node(node_kind::route, {from});
    draft_.nodes[node].covers_all_samples = true;
    for (std::size_t number = 0, cases = with_order_ ? 2 + draw(2) : 2; number < cases; ++number) {
      row_box taken = rows;
      taken[node] = 1u << number;
      draft_.add_output(node, "case " + std::to_string(number), taken);
    }
  }

  void add_collector() {
    auto from = draft_.loose_ends();
    from.resize(from.size() - draw(sinks_max));
    row_box rows = draft_.outputs[from.front()].rows;
    for (const std::size_t each : from) rows = bounds(rows, draft_.outputs[each].rows);
    draft_.add_output(add_node(node_kind::stage, from), "out", rows);
  }

  std::size_t add_node(node_kind kind, const std::vector<std::size_t>& from) {
    graph_node made;
    made.name = std::string(node_kind_name(kind)) + " " + std::to_string(draft_.nodes.size());
    made.kind = kind;
    made.replicas = chance(2) ? 1 : 1 + static_cast<std::uint32_t>(draw(3));
    const auto buffers = static_cast<std::uint32_t>(draw(4));
    if (buffers > 0) made.num_pipe_buffers = buffers;
    made.ordered = with_order_ && chance(12);
    copy_with(made, draft_.outputs[from[draw(from.size())]].name.node);
    return draft_.add_node(std::move(made), from);
  }

  /// Half of the nodes behind replicas become one pipeline with them.
  void copy_with(graph_node& made, const std::string& before) {
    const auto producer = std::ranges::find(draft_.nodes, before, &graph_node::name);
    if (producer->replicas == 1 || chance(2)) return;
    if (producer->pipeline_group.empty()) producer->pipeline_group = "group of " + before;
    made.pipeline_group = producer->pipeline_group;
    made.replicas = producer->replicas;
  }

  void add_sinks() {
    auto scored = draft_.loose_ends();
    while (scored.size() < sinks_max && chance(3)) {
      const std::size_t more = 1 + draw(draft_.outputs.size() - 1);  // nothing scores the loader
      if (std::ranges::find(scored, more) == scored.end()) scored.push_back(more);
    }
    std::ranges::shuffle(scored, random_);
    for (const std::size_t each : scored) {
      const std::string name = "sink " + std::to_string(draft_.nodes.size());
      draft_.add_end(name, node_kind::sink);
      draft_.edges.push_back({draft_.outputs[each].name, {name, "in"}});
    }
  }

  std::mt19937_64 random_;
  const bool with_order_;
  graph_draft draft_;
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
    text << "  " << node.name << ": " << node.replicas << " replicas, " << node.num_pipe_buffers.value_or(0)
         << " buffers" << (node.ordered ? ", ordered" : "") << (node.pipeline_group.empty() ? "" : ", in ")
         << node.pipeline_group << '\n';
  }
  for (const graph_edge& edge : graph.edges()) {
    text << "  " << edge.from.node << '.' << edge.from.port << " -> " << edge.to.node << '.' << edge.to.port << '\n';
  }
  return text.str();
}

}  // namespace troupe::testing
