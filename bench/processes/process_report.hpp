#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "process_rounds.hpp"

namespace troupe::bench {

/// Two stages over processes beside two in one, and four beside two.
std::string processes_table(const std::vector<measured_processes>& rows);
/// How much of half the plain loop's time two stages reach, in all rounds and in those in which the machine was quiet.
std::string efficiency_table(const std::vector<measured_processes>& rows);
/// What the journal, heartbeats and processes cost.
std::string cost_table(const std::vector<measured_processes>& rows);
nlohmann::ordered_json processes_json(const measured_processes& row);

}  // namespace troupe::bench
