#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <troupe/ids.hpp>

/// The graph of a simulated run, in plain numbers: the run and its right result are made from it.
namespace troupe::simulation {

enum class node_sort : std::uint8_t { stage, join, route };

inline constexpr std::uint32_t from_source = ~std::uint32_t{0};
/// An output of a node, or the one of the source.
struct outlet {
  std::uint32_t node = from_source;
  std::uint32_t port = 0;
  friend bool operator==(const outlet&, const outlet&) = default;
};

/// What a user has a node do, in place of hashing alone.
struct node_code {
  /// One for each worker that becomes the node; changes the numbers of a micro-batch's samples. May be null.
  std::function<std::function<void(micro_batch_id id, std::span<std::uint64_t> samples)>()> make = nullptr;
  /// The case of a sample. May be null.
  std::function<std::size_t(std::uint64_t sample)> choose = nullptr;
};

struct node_plan {
  node_sort sort = node_sort::stage;
  std::uint32_t replicas = 1;
  /// 0: none is named.
  std::uint32_t pipe_buffers = 0;
  /// Nodes of one number are one pipeline group; 0: alone.
  std::uint32_t group = 0;
  bool ordered = false;
  /// Forwards of replica 0 take that much longer.
  std::uint32_t slowness = 1;
  std::uint32_t outputs = 1;
  /// One for each input port.
  std::vector<outlet> inputs = {{}};
  /// Empty: "n2".
  std::string name = {};
  /// Null: hashing alone.
  std::shared_ptr<const node_code> code = nullptr;
};

/// Each node is behind all that it takes from, so that its position is its stage.
struct graph_plan {
  std::vector<node_plan> nodes;
  /// The outputs that are scored, by sink.
  std::vector<outlet> sinks = {};
};

/// A chain of copies: replica r of a stage sends to replica r of the next one.
[[nodiscard]] graph_plan make_line(std::uint32_t stages, std::uint32_t replicas, std::uint32_t pipe_buffers);

/// Of 2 to 11 nodes: stages with one input or several, joins, routes, forks, replicas alone and in groups, 1 to 3
/// sinks at any output. Nodes are marked as ordered where a graph needs it, and now and then without need.
[[nodiscard]] graph_plan draw_graph(std::uint64_t seed);

/// As errors of a run call it.
[[nodiscard]] std::string name_of_node(const graph_plan& of, std::uint32_t node);
/// Of a sample at a route.
[[nodiscard]] std::size_t case_of(const node_plan& route, std::uint64_t sample);
/// A line for each node, and one for the sinks.
[[nodiscard]] std::string describe(const graph_plan& what);

}  // namespace troupe::simulation
