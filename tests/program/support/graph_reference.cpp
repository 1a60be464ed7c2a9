#include "graph_reference.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "graph_bodies.hpp"
#include "runtime/topology/stage_graph.hpp"

namespace troupe::testing {
namespace {

/// One sample of one micro-batch on its way through the graph.
class sample_trace {
 public:
  sample_trace(const stage_graph& graph, micro_batch_id id, std::uint32_t row) : graph_(graph), id_(id), row_(row) {}

  /// What the output carries for the sample; nothing if the sample does not come by.
  std::optional<std::uint64_t> at(const port_name& output) {
    const graph_node& node = graph_.nodes()[graph_.find(output.node)];
    if (node.kind == node_kind::source) return sample_hash(id_, row_);
    const auto inside = in(node);
    const std::size_t port = position(node.outputs, output.port);
    if (!inside || (node.kind == node_kind::route && *inside % node.outputs.size() != port)) return std::nullopt;
    return mix(*inside, port);
  }

  /// What the node makes of all that it gets for the sample.
  std::optional<std::uint64_t> in(const graph_node& node) {
    if (const auto known = known_.find(node.name); known != known_.end()) return known->second;
    std::optional<std::uint64_t> value;
    for (std::size_t port = 0; port < node.inputs.size(); ++port) {
      const auto given = at(feeder(graph_, {node.name, node.inputs[port]}));
      if (given) value = mix(value.value_or(name_hash(node.name)), mix(*given, port));
    }
    return known_[node.name] = value;
  }

  static const port_name& feeder(const stage_graph& graph, const port_name& input) {
    return std::ranges::find(graph.edges(), input, &graph_edge::to)->from;
  }

 private:
  static std::size_t position(const std::vector<std::string>& ports, const std::string& port) {
    return static_cast<std::size_t>(std::ranges::find(ports, port) - ports.begin());
  }

  const stage_graph& graph_;
  const micro_batch_id id_;
  const std::uint32_t row_;
  std::map<std::string, std::optional<std::uint64_t>> known_;
};

}  // namespace

std::vector<std::uint64_t> expected_digests(const graph_case& given, call_number call) {
  std::vector<std::uint64_t> digests;
  for (const graph_node& sink : given.graph.nodes()) {
    if (sink.kind != node_kind::sink) continue;
    const port_name& scored = sample_trace::feeder(given.graph, {sink.name, sink.inputs.front()});
    std::uint64_t digest = 0;
    const std::uint64_t first = first_of(given, call, digests.size());
    std::uint64_t first_sample = samples_before({call, first});
    for (std::uint64_t index = first; index < given.calls[call]; ++index) {
      const micro_batch_id id{call, index};
      const std::uint32_t rows = rows_of_micro_batch(id);
      std::uint64_t word = first_sample;
      std::uint64_t samples = 0;
      for (std::uint32_t row = 0; row < rows; ++row) {
        const auto value = sample_trace(given.graph, id, row).at(scored);
        if (!value) continue;
        word = mix(word, mix(row, *value));
        ++samples;
      }
      digest = fold_step(digest, samples, samples == 0 ? 0 : word);
      first_sample += rows;
    }
    digests.push_back(digest);
  }
  return digests;
}

failing failing_of(const graph_case& given, call_number call) {
  const auto resumed = given.starts.find(call);
  const call_start start = resumed == given.starts.end() ? call_start{} : resumed->second;
  const std::uint64_t awaited_by_all = start.folded.empty() ? 0 : *std::ranges::max_element(start.folded);
  failing found;
  for (const auto& [name, id] : given.fail_always) {
    if (id.call != call || id.index >= given.calls[call] || id.index < start.first()) continue;
    const graph_node& node = given.graph.nodes()[given.graph.find(name)];
    for (std::uint32_t row = 0; row < rows_of_micro_batch(id); ++row) {
      if (!sample_trace(given.graph, id, row).in(node)) continue;
      found.may = true;
      found.must = found.must || id.index >= awaited_by_all;
    }
  }
  return found;
}

}  // namespace troupe::testing
