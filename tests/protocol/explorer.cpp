#include "tests/protocol/explorer.hpp"

#include <array>

namespace troupe::testing {
verdict explore(const flow_graph& graph, const protocol_options& options, std::uint64_t states_max) {
  return exploration(protocol_model(graph, options)).run(states_max);
}

const char* name_of(violation found) noexcept {
  static constexpr std::array names = {"nothing",      "deadlock",         "lost part",     "repeated part",
                                       "folded twice", "mismatched parts", "overfull edge", "out of order"};
  return names[static_cast<std::size_t>(found)];
}

std::string explain(const flow_graph& graph, const protocol_options& options, const verdict& found) {
  std::string text = std::string(name_of(found.found)) + (found.gave_up ? " (gave up)" : "") + " in " +
                     to_string(graph) + ", " + std::to_string(options.credits) + " credits, " +
                     std::to_string(options.micro_batches) + " micro-batches" + (options.one_dies ? ", one dies" : "") +
                     ", " + std::to_string(found.states) + " states";
  for (const std::string& line : found.trace) text += "\n  " + line;
  return text;
}

}  // namespace troupe::testing
