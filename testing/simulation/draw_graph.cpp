#include <algorithm>
#include <map>
#include <utility>

#include "runtime/topology/stage_graph.hpp"
#include "testing/simulation/chance.hpp"
#include "testing/simulation/graph.hpp"
#include "testing/simulation/graph_wiring.hpp"

namespace troupe::simulation {
namespace {

constexpr std::size_t sinks_max = 3;

/// Which samples an output can hold, seen from afar: of each route the cases that they took. Two outputs are disjoint
/// if there is a route of which they took different cases.
using row_box = std::map<std::uint32_t, std::uint32_t>;

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

class graph_drawing {
 public:
  explicit graph_drawing(std::uint64_t seed) : random_(seed ^ 0x6a09e667f3bcc908ULL) { outputs_.push_back({}); }

  graph_plan draw() {
    const std::size_t inner = 2 + random_.below(9);
    for (std::size_t made = 0; made < inner; ++made) add_any(made + 1 == inner);
    if (loose_ends().size() > sinks_max) add_collector();
    add_sinks();
    mark_ordered();
    return std::move(made_);
  }

 private:
  struct output {
    outlet where;
    row_box rows;
    std::size_t consumers = 0;
  };

  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }

  [[nodiscard]] std::vector<std::size_t> loose_ends() const {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < outputs_.size(); ++at) {
      if (outputs_[at].consumers == 0) found.push_back(at);
    }
    return found;
  }

  std::size_t pick_output() {
    const auto loose = loose_ends();
    if (loose.empty() || one_in(4)) return random_.below(outputs_.size());
    return loose[random_.below(loose.size())];
  }

  void add_any(bool is_last) {
    const bool needs_stage = is_last && std::ranges::none_of(made_.nodes, [](const node_plan& each) {
                               return each.sort == node_sort::stage;
                             });
    const std::uint64_t choice = needs_stage ? 0 : random_.below(10);
    if (choice >= 7) return add_route();
    if (choice >= 4 && add_join()) return;
    add_stage(choice == 2 || choice == 3 ? 2 + random_.below(2) : 1);
  }

  void add_stage(std::size_t inputs) {
    std::vector<std::size_t> from;
    row_box rows;
    for (std::size_t at = 0; at < inputs; ++at) {
      from.push_back(pick_output());
      rows = at == 0 ? outputs_[from[at]].rows : bounds(rows, outputs_[from[at]].rows);
    }
    const std::uint32_t node = add_node(node_sort::stage, from);
    add_output(node, rows);
    if (one_in(6)) add_output(node, rows);
  }

  /// Of two or three disjoint outputs, if there are any.
  bool add_join() {
    const std::size_t begin = random_.below(outputs_.size());
    for (std::size_t turn = 0; turn < outputs_.size(); ++turn) {
      std::vector<std::size_t> from = {(begin + turn) % outputs_.size()};
      row_box rows = outputs_[from.front()].rows;
      for (std::size_t next = 0; next < outputs_.size() && from.size() < 3; ++next) {
        const bool fits = std::ranges::all_of(
            from, [&](std::size_t each) { return disjoint(outputs_[each].rows, outputs_[next].rows); });
        if (!fits) continue;
        from.push_back(next);
        rows = bounds(rows, outputs_[next].rows);
      }
      if (from.size() < 2) continue;
      if (one_in(2)) std::ranges::reverse(from);
      add_output(add_node(node_sort::join, from), rows);
      return true;
    }
    return false;
  }

  void add_route() {
    const std::size_t from = pick_output();
    const row_box rows = outputs_[from].rows;
    const std::uint32_t node = add_node(node_sort::route, {from});
    for (std::uint64_t number = 0, cases = 2 + random_.below(2); number < cases; ++number) {
      row_box taken = rows;
      taken[node] = 1u << number;
      add_output(node, std::move(taken));
    }
  }

  void add_collector() {
    auto from = loose_ends();
    from.resize(from.size() - random_.below(sinks_max));
    row_box rows = outputs_[from.front()].rows;
    for (const std::size_t each : from) rows = bounds(rows, outputs_[each].rows);
    add_output(add_node(node_sort::stage, from), rows);
  }

  std::uint32_t add_node(node_sort sort, const std::vector<std::size_t>& from) {
    node_plan made{.sort = sort, .outputs = 0, .inputs = {}};
    made.replicas = one_in(2) ? 1 : 1 + static_cast<std::uint32_t>(random_.below(3));
    made.pipe_buffers = static_cast<std::uint32_t>(random_.below(4));
    made.ordered = one_in(12);
    for (const std::size_t each : from) {
      made.inputs.push_back(outputs_[each].where);
      ++outputs_[each].consumers;
    }
    copy_with(made, outputs_[from[random_.below(from.size())]].where.node);
    made_.nodes.push_back(std::move(made));
    return static_cast<std::uint32_t>(made_.nodes.size() - 1);
  }

  /// Half of the nodes behind replicas become one pipeline with them.
  void copy_with(node_plan& made, std::uint32_t before) {
    if (before == from_source) return;
    node_plan& producer = made_.nodes[before];
    if (producer.replicas == 1 || one_in(2)) return;
    if (producer.group == 0) producer.group = before + 1;
    made.group = producer.group;
    made.replicas = producer.replicas;
  }

  void add_output(std::uint32_t node, row_box rows) {
    outputs_.push_back({{node, made_.nodes[node].outputs++}, std::move(rows), 0});
  }

  /// At all loose ends, and now and then at another output.
  void add_sinks() {
    auto scored = loose_ends();
    std::erase(scored, std::size_t{0});
    while (scored.size() < sinks_max && one_in(3)) {
      const std::size_t more = 1 + random_.below(outputs_.size() - 1);
      if (std::ranges::find(scored, more) == scored.end()) scored.push_back(more);
    }
    for (std::size_t left = scored.size(); left > 1; --left) std::swap(scored[left - 1], scored[random_.below(left)]);
    for (const std::size_t each : scored) made_.sinks.push_back(outputs_[each].where);
  }

  /// Until nothing waits for ids in order behind a node that mixes them: that node keeps order, or one before it that
  /// mixes them too.
  void mark_ordered() {
    for (;;) {
      const stage_graph now = stated(made_);
      const auto mixes = [&](std::uint32_t node) {
        return node != from_source && !emits_in_order(now, now.find(name_of_node(made_, node)));
      };
      const auto mixed_before = [&](const node_plan& node) {
        return std::ranges::find_if(node.inputs, [&](const outlet& each) { return mixes(each.node); });
      };
      const auto starving = std::ranges::find_if(made_.nodes, [&](const node_plan& node) {
        return (node.ordered || node.inputs.size() > 1) && mixed_before(node) != node.inputs.end();
      });
      if (starving == made_.nodes.end()) return;
      std::uint32_t marked = mixed_before(*starving)->node;
      for (const outlet& each : made_.nodes[marked].inputs) {
        if (mixes(each.node) && one_in(2)) marked = each.node;
      }
      made_.nodes[marked].ordered = true;
    }
  }

  chance random_;
  graph_plan made_;
  /// The source's first.
  std::vector<output> outputs_;
};

}  // namespace

graph_plan draw_graph(std::uint64_t seed) {
  return graph_drawing(seed).draw();
}

}  // namespace troupe::simulation
