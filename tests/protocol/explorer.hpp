#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/protocol/protocol_model.hpp"

namespace troupe::testing {

/// What became of an exploration.
struct verdict {
  violation found = violation::none;
  /// One of the shortest ways to it, a line per step.
  std::vector<std::string> trace;
  std::uint64_t states = 0;
  /// There were more states than allowed, so that nothing found means nothing.
  bool gave_up = false;

  [[nodiscard]] bool is_clean() const noexcept { return found == violation::none && !gave_up; }
};

constexpr std::uint64_t states_max_default = 8'000'000;

/// Visits every state that can be reached, breadth first, until something is wrong. Where nothing but a death could go
/// on, the run counts as stuck: no instance may have to die for the others to proceed.
verdict explore(const flow_graph& graph, const protocol_options& options,
                std::uint64_t states_max = states_max_default);

const char* name_of(violation found) noexcept;

/// For the message of a failed expectation: the graph, the options, the trace.
std::string explain(const flow_graph& graph, const protocol_options& options, const verdict& found);

}  // namespace troupe::testing
