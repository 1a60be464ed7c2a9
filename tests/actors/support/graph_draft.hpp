#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/topology/stage_graph.hpp"

namespace troupe::testing {

/// Which samples an output can hold, seen from afar: of each route the cases that they took. Two outputs are disjoint
/// if there is a route of which they took different cases.
using row_box = std::map<std::size_t, std::uint32_t>;

bool disjoint(const row_box& a, const row_box& b);
/// Holds both and maybe more: too large a box only makes fewer outputs look disjoint.
row_box bounds(const row_box& a, const row_box& b);

/// A graph in the making, whose nodes can still be changed.
struct graph_draft {
  struct output {
    port_name name;
    row_box rows;
    std::size_t consumers = 0;
  };

  /// A source or sink; its port gets the usual name.
  void add_end(const std::string& name, node_kind kind);
  /// Connects an input for each of these outputs. Returns its position.
  std::size_t add_node(graph_node node, const std::vector<std::size_t>& from);
  void add_output(std::size_t node, const std::string& port, row_box rows);
  /// Outputs without a receiver.
  [[nodiscard]] std::vector<std::size_t> loose_ends() const;
  /// Until nothing waits for ids in order behind a node that mixes them: that node keeps order, or one before it that
  /// mixes them too.
  void mark_ordered(std::mt19937_64& random);
  [[nodiscard]] stage_graph graph() const;

  std::vector<graph_node> nodes;
  std::vector<graph_edge> edges;
  std::vector<output> outputs;
};

}  // namespace troupe::testing
