#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "killing_run.hpp"

namespace troupe::bench {

struct recovery_row {
  recovery_case which;
  std::vector<kill_times> kills;
};

/// "time to the first new result": percentiles by case.
std::string recovery_table(const std::vector<recovery_row>& rows);
/// Where it goes: medians of each step's own share.
std::string steps_table(const std::vector<recovery_row>& rows);
nlohmann::ordered_json recovery_json(const recovery_row& row);

}  // namespace troupe::bench
