#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paired_times.hpp"

namespace troupe::bench {

/// A line per comparison: all pairs, and those in which the machine was steady.
std::string comparison_table(const std::vector<measured_processes>& rows);
nlohmann::ordered_json processes_json(const measured_processes& row);

}  // namespace troupe::bench
