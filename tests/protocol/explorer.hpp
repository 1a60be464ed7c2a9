#pragma once

#include <cstdint>
#include <string>

#include "tests/protocol/exploration.hpp"
#include "tests/protocol/protocol_model.hpp"

namespace troupe::testing {

using verdict = verdict_of<violation>;

constexpr std::uint64_t states_max_default = 8'000'000;

verdict explore(const flow_graph& graph, const protocol_options& options,
                std::uint64_t states_max = states_max_default);

const char* name_of(violation found) noexcept;

/// For the message of a failed expectation: the graph, the options, the trace.
std::string explain(const flow_graph& graph, const protocol_options& options, const verdict& found);

}  // namespace troupe::testing
