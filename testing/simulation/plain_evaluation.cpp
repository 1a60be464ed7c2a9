#include "testing/simulation/plain_evaluation.hpp"

#include <array>
#include <exception>
#include <optional>

namespace troupe::simulation {
namespace {

constexpr std::size_t rows_max = 3;
using row_values = std::array<std::optional<std::uint64_t>, rows_max>;

row_values source_rows(std::uint64_t call, std::uint64_t index) {
  row_values made;
  for (std::uint64_t row = 0; row < 1 + index % 3; ++row) {
    made[row] = stirred(stirred(call + 1, index + 1), row);
  }
  return made;
}

plain_evaluation::part sum_of(const row_values& rows, std::uint64_t index) {
  plain_evaluation::part made;
  std::uint64_t word = index * 4;
  for (std::size_t row = 0; row < rows_max; ++row) {
    if (!rows[row]) continue;
    ++made.samples;
    word = stirred(word, stirred(row, *rows[row]));
  }
  if (made.samples > 0) made.word = word;
  return made;
}

/// What the node makes of a row that none of its inputs has: nothing.
std::optional<std::uint64_t> stirred_inputs(const std::vector<const row_values*>& inputs, std::uint64_t weights,
                                            std::size_t row) {
  std::optional<std::uint64_t> inside;
  for (std::size_t port = 0; port < inputs.size(); ++port) {
    const std::optional<std::uint64_t>& given = (*inputs[port])[row];
    if (given) inside = stirred(inside.value_or(weights), stirred(*given, port));
  }
  return inside;
}

/// A part without samples is not computed.
void run_code(const plain_evaluation::code& what, micro_batch_id id, row_values& rows) {
  std::vector<std::uint64_t> samples;
  for (const auto& each : rows) {
    if (each) samples.push_back(*each);
  }
  if (samples.empty()) return;
  what(id, samples);
  std::size_t next = 0;
  for (auto& each : rows) {
    if (each) each = samples[next++];
  }
}

}  // namespace

std::uint64_t stirred(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x7f4a7c15;
  x ^= x >> 31u;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29u);
}

plain_evaluation::plain_evaluation(graph_plan graph, std::vector<std::uint64_t> calls)
    : graph_(std::move(graph)), calls_(std::move(calls)) {
  for (const node_plan& each : graph_.nodes) {
    code_.push_back(each.code && each.code->make ? each.code->make() : nullptr);
    has_code_ = has_code_ || code_.back();
  }
}

const plain_evaluation::parts& plain_evaluation::evaluate(std::uint64_t call, std::uint64_t index) {
  // What a user's code keeps depends on the order.
  for (; has_code_ && next_.call < calls_.size() && next_ <= micro_batch_id{call, index}; ++next_.index) {
    while (next_.call < calls_.size() && next_.index >= calls_[next_.call]) next_ = {next_.call + 1, 0};
    if (next_.call < calls_.size()) known_.try_emplace({next_.call, next_.index}, evaluate_now(next_));
  }
  const auto known = known_.find({call, index});
  if (known != known_.end()) return known->second;
  return known_.try_emplace({call, index}, evaluate_now({call, index})).first->second;
}

plain_evaluation::parts plain_evaluation::evaluate_now(micro_batch_id id) {
  std::uint32_t number = 0;
  try {
    return evaluate_nodes(id, number);
  } catch (const std::exception& thrown) {
    throw code_failure{number, id, thrown.what()};
  } catch (...) {
    throw code_failure{number, id, "something that is no std::exception"};
  }
}

plain_evaluation::parts plain_evaluation::evaluate_nodes(micro_batch_id id, std::uint32_t& number) {
  parts made;
  const row_values source = source_rows(id.call, id.index);
  std::vector<std::vector<row_values>> outputs;
  const auto at = [&](const outlet& which) -> const row_values& {
    return which.node == from_source ? source : outputs[which.node][which.port];
  };
  for (number = 0; number < graph_.nodes.size(); ++number) {
    const node_plan& node = graph_.nodes[number];
    std::vector<const row_values*> inputs;
    for (const outlet& each : node.inputs) inputs.push_back(&at(each));
    const std::uint64_t weights = weights_(number, id.call);
    row_values inside;
    for (std::size_t row = 0; row < rows_max; ++row) inside[row] = stirred_inputs(inputs, weights, row);
    if (code_[number]) run_code(code_[number], id, inside);
    std::vector<row_values> out(node.outputs);
    part whole;
    for (std::size_t row = 0; row < rows_max; ++row) {
      if (!inside[row]) continue;
      ++whole.samples;
      for (std::uint32_t port = 0; port < node.outputs; ++port) {
        if (node.sort == node_sort::route && case_of(node, *inside[row]) != port) continue;
        out[port][row] = stirred(*inside[row], port);
      }
    }
    for (const row_values& each : out) whole.word = stirred(whole.word, sum_of(each, id.index).word);
    made.nodes.push_back(whole);
    outputs.push_back(std::move(out));
  }
  for (const outlet& each : graph_.sinks) made.sinks.push_back(sum_of(at(each), id.index));
  return made;
}

plain_evaluation::part plain_evaluation::at_sink(std::uint32_t sink, std::uint64_t call, std::uint64_t index) {
  return evaluate(call, index).sinks.at(sink);
}

plain_evaluation::part plain_evaluation::at_node(std::uint32_t node, std::uint64_t call, std::uint64_t index) {
  return evaluate(call, index).nodes.at(node);
}

std::uint64_t plain_evaluation::samples_before(std::uint64_t call, std::uint64_t end) {
  std::uint64_t samples = 0;
  for (std::uint64_t index = 0; index < end; ++index) samples += at_sink(0, call, index).samples;
  return samples;
}

}  // namespace troupe::simulation
