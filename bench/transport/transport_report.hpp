#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "transport_rounds.hpp"

namespace troupe::bench {

/// Versions, processor, cores; how ends wait. `spin_us` as given to the edges.
nlohmann::ordered_json transport_environment(double spin_us);

/// Times and their ratios, which are of the same round, by size and lane; in the order of `lanes`. Ratios are missing
/// where the lane was not measured to which they refer: memcpy for bandwidth, unix-socket for latency, and for edges
/// with a checksum the same without.
nlohmann::ordered_json transport_json(const std::vector<std::string>& lanes, const transport_results& results);

/// The same as tables of Markdown: a line per lane, a column per size.
std::string transport_tables(const std::vector<std::string>& lanes, const transport_results& results);

/// "environment" as lines of a Markdown list.
std::string environment_lines(const nlohmann::ordered_json& environment);

}  // namespace troupe::bench
