#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/training.hpp"
#include "runtime/topology/stage_graph.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// A node as it is wired. Its position in wiring_plan::nodes is its stage_index everywhere else: in addresses, traces,
/// errors.
struct wired_node {
  std::string name;
  node_kind kind = node_kind::stage;
  std::uint32_t replicas = 1;
  /// At least; exactly, where the author of the graph named a number.
  std::uint32_t num_pipe_buffers = 1;
  bool names_pipe_buffers = true;
  /// Stages, joins, routes: the sinks (positions in wiring_plan::sinks, which are score::sink) that its engines serve.
  std::vector<std::uint32_t> sinks;
  /// Port names, in the order of the port numbers in channels and sinks.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  /// Takes micro-batches in id order.
  bool keeps_order = false;
  /// Replica r gets exactly the ids whose index is r modulo `replicas`, so that all parts of an id meet; otherwise
  /// the replica with credit gets the next id.
  bool fixed_replica = false;
};

/// What passes over a channel.
enum class channel_kind : std::uint8_t {
  activations,
  gradients,  ///< from a stage to the one before it
  sums,       ///< of a step's gradients, from one replica to another of its stage or of one that it shares weights with
};

/// One engine: one replica of one source or stage.
struct wired_instance {
  stage_address address;
  /// Positions in wiring_plan::channels. A source has no inbound, a last stage no outbound one.
  std::vector<std::size_t> inbound;
  std::vector<std::size_t> outbound;
  /// Those of the other kinds, where the run trains: from the next stage, to the stage before, and from and to the
  /// other replicas in their order, with those of stages that share weights behind them.
  std::optional<std::size_t> gradients_in = std::nullopt;
  std::optional<std::size_t> gradients_out = std::nullopt;
  std::vector<std::size_t> sums_in = {};
  std::vector<std::size_t> sums_out = {};
};

/// One edge between two engines: exactly one producer and one consumer. Positions in wiring_plan::instances.
struct wired_channel {
  std::size_t producer = 0;
  std::size_t consumer = 0;
  /// Credits: the consumer's num_pipe_buffers; behind a source at least limits::prefetch_slots. A run may have others,
  /// by the size of what passes (slots_of in runtime/wiring/make_wiring.hpp).
  std::uint32_t slots = 1;
  std::uint32_t output_port = 0;
  std::uint32_t input_port = 0;
  channel_kind kind = channel_kind::activations;
};

struct wired_sink {
  std::string name;
  /// The node whose outputs it scores, on every replica.
  stage_index stage = 0;
  std::uint32_t output_port = 0;
};

/// What a graph means, engine by engine: the director makes one engine per instance, one edge per channel, and one
/// scorer per sink on every instance of its stage.
///
/// Order: nodes are all stages, joins and routes in topological order (so that stage i of a chain is node i), then the
/// source; sinks are not nodes. Instances are in node order, replicas of a node together; channels are ordered by
/// producer, then consumer, then input port; behind them come those of other kinds. Replicas: within one pipeline group
/// replica r is wired to replica r alone; everywhere else every replica to every replica of the next node. A node that
/// keeps order, and every node of a pipeline group that has one, gets its ids by fixed_replica.
///
/// A number called `instance` or `channel` is everywhere the position in these vectors; a vector "by instance" or "by
/// channel" has an element for each position.
struct wiring_plan {
  std::vector<wired_node> nodes;
  std::vector<wired_instance> instances;
  std::vector<wired_channel> channels;
  std::vector<wired_sink> sinks;
  /// make_trainable() was called.
  bool trains = false;

  /// Position of the instance; the address must exist.
  [[nodiscard]] std::size_t instance_at(stage_address address) const;
};

/// Validates and expands. Errors as validate(), and E0504 for more than limits::ranks_max channels.
expected<wiring_plan> expand(const stage_graph& graph);

/// The slots of a channel of gradients or sums: one that is read and one behind it.
inline constexpr std::uint32_t gradient_slots = 2;

/// Makes a plan of evaluation one of training: adds the channels of gradients and sums, gives each replica fixed ids,
/// and the channel into stage s of S the slots of S - s micro-batches, which are those that live there at a time
/// (docs/decisions/0044), but no more than limits::pipe_buffers_max. E0504 where the stages are no chain or are not all
/// copied together, or the number of replicas is no power of two.
expected<void> make_trainable(wiring_plan& plan);

/// Adds the channels for the sums of tied weights to a plan that trains: both ways between every replica of the one
/// stage and every one of the other. Where a model is cut is known later than its plan, so that they stand behind all
/// others. E0504 for more than limits::ranks_max channels; E0702 for stages that the plan has not, or that are not
/// distinct pairs in their order.
expected<void> add_ties(wiring_plan& plan, std::span<const tied_stages> ties);

/// "edge stage 0 -> stage 1".
[[nodiscard]] std::string channel_name(const wiring_plan& plan, std::size_t channel);

/// By node: whether it may hold only a part of the samples of a micro-batch, as it is a route or behind one.
[[nodiscard]] std::vector<bool> nodes_with_parts(const wiring_plan& plan);

}  // namespace troupe
