#include "testing/simulation/plain_evaluation.hpp"

#include <array>
#include <optional>

namespace troupe::simulation {
namespace {

constexpr std::size_t rows_max = 3;
using row_values = std::array<std::optional<std::uint64_t>, rows_max>;

std::uint64_t stirred(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x7f4a7c15;
  x ^= x >> 31u;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29u);
}

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
std::optional<std::uint64_t> stirred_inputs(const std::vector<const row_values*>& inputs, std::uint32_t node,
                                            std::size_t row) {
  std::optional<std::uint64_t> inside;
  for (std::size_t port = 0; port < inputs.size(); ++port) {
    const std::optional<std::uint64_t>& given = (*inputs[port])[row];
    if (given) inside = stirred(inside.value_or(node + 1), stirred(*given, port));
  }
  return inside;
}

}  // namespace

const plain_evaluation::parts& plain_evaluation::evaluate(std::uint64_t call, std::uint64_t index) {
  const auto [place, is_new] = known_.try_emplace({call, index});
  parts& made = place->second;
  if (!is_new) return made;
  const row_values source = source_rows(call, index);
  std::vector<std::vector<row_values>> outputs;
  const auto at = [&](const outlet& which) -> const row_values& {
    return which.node == from_source ? source : outputs[which.node][which.port];
  };
  for (std::uint32_t number = 0; number < graph_.nodes.size(); ++number) {
    const node_plan& node = graph_.nodes[number];
    std::vector<const row_values*> inputs;
    for (const outlet& each : node.inputs) inputs.push_back(&at(each));
    std::vector<row_values> out(node.outputs);
    part whole;
    for (std::size_t row = 0; row < rows_max; ++row) {
      const auto inside = stirred_inputs(inputs, number, row);
      if (!inside) continue;
      ++whole.samples;
      for (std::uint32_t port = 0; port < node.outputs; ++port) {
        if (node.sort == node_sort::route && *inside % node.outputs != port) continue;
        out[port][row] = stirred(*inside, port);
      }
    }
    for (const row_values& each : out) whole.word = stirred(whole.word, sum_of(each, index).word);
    made.nodes.push_back(whole);
    outputs.push_back(std::move(out));
  }
  for (const outlet& each : graph_.sinks) made.sinks.push_back(sum_of(at(each), index));
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
