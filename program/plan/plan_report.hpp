#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/plan/crossing.hpp"
#include "runtime/launch/node_filter.hpp"
#include "runtime/partition/method_costs.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

struct planned_stage {
  std::vector<std::string> layers;  ///< "0 Conv2d", in order
  std::uint64_t parameters = 0;
  /// Forward time of one micro-batch, measured layer by layer; only with data.
  std::optional<double> seconds;
  std::uint64_t weight_bytes = 0;
  /// What receiving and sending the values at its cuts takes besides (cut_cost); only with data.
  std::optional<double> crossing_seconds;
  /// Bytes of one micro-batch with its labels, as the stage gets it; only with data.
  std::optional<std::uint64_t> input_bytes;
  /// Inputs that may wait in the slots of one replica, and the largest input and output of a layer at work; only with
  /// data.
  std::optional<std::uint64_t> activation_bytes;
};

/// A cut between two stages.
struct planned_cut {
  /// The first layer behind it.
  std::size_t layer = 0;
  /// What passes with one micro-batch.
  crossing values;
};

/// A stage replica on a slot of a node.
struct planned_rank {
  std::uint32_t slot = 0;
  std::uint64_t rank = 0;
  std::uint64_t stage = 0;
  std::uint64_t replica = 0;
};
struct planned_node {
  std::string name;
  /// That may be used; those without a rank are for spare workers.
  std::size_t slots = 0;
  std::vector<planned_rank> ranks = {};
};

/// What a run with these options would look like. Nothing has been started to find out, but the layers were timed.
struct plan_report {
  std::string model;
  std::string data;
  /// As asked for, "auto".
  std::string partition;
  /// The method that gave the boundaries: what "auto" became, or the same.
  std::string cut_by;
  std::string bits_depend_on;
  part_boundaries boundaries;
  /// This and the next two: see rewrite_choice.
  bool runs_plain = false;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  std::vector<planned_stage> stages;
  /// One fewer than stages.
  std::vector<planned_cut> cuts;
  /// See cut_cost.
  double cut_cost_seconds_per_byte = cut_cost::in_process;
  /// How this cut and those that other methods would make compare, this one first; only with data, and if there is
  /// more than one stage.
  std::vector<method_cost> methods;
  std::uint32_t replicas = 1;
  std::uint32_t threads = 1;
  std::uint64_t micro_batch = 0;
  /// Micro-batches of one call, over all replicas; only with data.
  std::optional<std::uint64_t> micro_batches;
  /// Mean over slowest stage, by time where it was measured, else by parameters; 1 is perfect. Nothing if all are 0.
  std::optional<double> balance;
  /// (S - 1) / (M + S - 1), the idle share of a pipeline that fills and drains once; M is a replica's share of the
  /// micro-batches.
  std::optional<double> bubble;
  /// Weights once, activations for every replica.
  std::optional<std::uint64_t> memory_bytes;
  /// Only where it was placed on nodes.
  std::vector<planned_node> nodes;
  /// Bytes of one micro-batch between nodes, scores left out; with replicas the mean. Only with nodes and data.
  std::optional<std::uint64_t> crossing_bytes;
};

/// Loads the model; with data also probes it, and times every layer on the first micro-batch. Errors are those of eval:
/// 2xx with E0216, 3xx, partition; E0105 for the method profile without data.
expected<plan_report> make_plan(const eval_options& options, std::uint32_t cores);

/// Its stage replicas on the slots of these nodes, by rank; the loader is on the first node. Once. E0103 where the
/// slots are too few.
expected<void> place_plan(plan_report& plan, std::span<const node_slots> nodes);

/// One JSON object with a final newline (docs/cli.md).
std::string plan_json(const plan_report& plan);
/// For people, no line longer than `width`.
std::string plan_text(const plan_report& plan, std::size_t width);

}  // namespace troupe
