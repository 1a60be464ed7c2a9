#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <troupe/messages/error.hpp>
#include <troupe/messages/ids.hpp>
#include <troupe/runtime/topology/stage_graph.hpp>

namespace troupe {

/// A node as it is wired. Its position in wiring_plan::nodes is its stage_index everywhere else: in addresses, traces,
/// errors.
struct wired_node {
  std::string name;
  node_kind kind = node_kind::stage;
  std::uint32_t replicas = 1;
  std::uint32_t num_pipe_buffers = 1;
  /// Stages only: the sinks (positions in wiring_plan::sinks, which are score::sink) that this stage's engines serve.
  std::vector<std::uint32_t> sinks;
};

/// One engine: one replica of one source or stage.
struct wired_instance {
  stage_address address;
  placement where;
  /// Positions in wiring_plan::channels. A source has no inbound, a last stage no outbound one.
  std::vector<std::size_t> inbound;
  std::vector<std::size_t> outbound;
};

/// One edge between two engines: exactly one producer and one consumer. Positions in wiring_plan::instances.
struct wired_channel {
  std::size_t producer = 0;
  std::size_t consumer = 0;
  /// Credits: the consumer's num_pipe_buffers; behind a source at least limits::prefetch_slots.
  std::uint32_t slots = 1;
};

struct wired_sink {
  std::string name;
  /// The stage whose outputs it scores, on every replica.
  stage_index stage = 0;
};

/// What a graph means, engine by engine: the director makes one engine per instance, one edge per channel, and one
/// scorer per sink on every instance of its stage.
///
/// Order: nodes are all stages in topological order (so that stage i of a chain is node i), then all sources; sinks are
/// not nodes. Instances are in node order, replicas of a node together; channels are ordered by producer, then
/// consumer. Replicas: within one pipeline group replica r is wired to replica r alone; everywhere else every replica
/// to every replica of the next node, and who has credit pulls. So a source reaches all replicas of the first stage.
struct wiring_plan {
  std::vector<wired_node> nodes;
  std::vector<wired_instance> instances;
  std::vector<wired_channel> channels;
  std::vector<wired_sink> sinks;

  /// Position of the instance; the address must exist.
  [[nodiscard]] std::size_t instance_at(stage_address address) const;
};

/// Validates and expands. Errors as validate(), and E0504 for more than limits::ranks_max channels.
expected<wiring_plan> expand(const stage_graph& graph);

}  // namespace troupe
