#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "testing/simulation/graph.hpp"

namespace troupe::simulation {

/// One number that depends on both.
[[nodiscard]] std::uint64_t stirred(std::uint64_t a, std::uint64_t b);

/// What must come out of a graph: a plain loop over its nodes, which shares no code with what it judges. A micro-batch
/// has 1 to 3 samples, and every sample is a number:
///
///   the source   makes it of call, index and row;
///   a node       stirs, row by row, the numbers of all inputs that have the row into its own;
///   an output    stirs its port into that; of a route it has the rows alone whose number says so.
class plain_evaluation {
 public:
  /// `calls`: micro-batches of each. They tell the order in which a user's code gets them.
  plain_evaluation(graph_plan graph, std::vector<std::uint64_t> calls);
  using code = std::function<void(micro_batch_id id, std::span<std::uint64_t> samples)>;

  /// Thrown by what evaluates: the code of a node threw.
  struct code_failure {
    std::uint32_t node = 0;
    micro_batch_id id;
    std::string why;
  };

  /// `word` is 0 where there is no sample.
  struct part {
    std::uint64_t samples = 0;
    std::uint64_t word = 0;
    friend bool operator==(const part&, const part&) = default;
  };
  /// What the sink scores of the micro-batch.
  [[nodiscard]] part at_sink(std::uint32_t sink, std::uint64_t call, std::uint64_t index);
  /// Over all outputs of the node; `samples` are those that it takes in.
  [[nodiscard]] part at_node(std::uint32_t node, std::uint64_t call, std::uint64_t index);
  /// Of all micro-batches before `end` at the first sink.
  [[nodiscard]] std::uint64_t samples_before(std::uint64_t call, std::uint64_t end);
  /// The node whose output the sink scores.
  [[nodiscard]] std::uint32_t node_of(std::uint32_t sink) const { return graph_.sinks.at(sink).node; }
  /// What a node stirs the rows of a call into, in place of its number plus one.
  using weights_function = std::function<std::uint64_t(std::uint32_t node, std::uint64_t call)>;
  void use_weights(weights_function weights) { weights_ = std::move(weights); }
  [[nodiscard]] std::size_t sinks() const noexcept { return graph_.sinks.size(); }

 private:
  struct parts {
    std::vector<part> nodes;
    std::vector<part> sinks;
  };
  const parts& evaluate(std::uint64_t call, std::uint64_t index);
  [[nodiscard]] parts evaluate_now(micro_batch_id id);
  /// `number`: the node that is computed.
  [[nodiscard]] parts evaluate_nodes(micro_batch_id id, std::uint32_t& number);

  const graph_plan graph_;
  const std::vector<std::uint64_t> calls_;
  std::vector<code> code_;
  weights_function weights_ = [](std::uint32_t node, std::uint64_t) { return node + std::uint64_t{1}; };
  bool has_code_ = false;
  micro_batch_id next_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, parts> known_;
};

}  // namespace troupe::simulation
