#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/config/eval_options.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/report/run_result.hpp"

namespace troupe {

struct json_report {
  /// One JSON object with a final newline; its names are those of docs/result.md, schema_version 1. A double comes back
  /// as the same bits; NaN and infinity, which JSON lacks, are the strings "NaN", "Infinity" and "-Infinity".
  std::string text;
  /// One line for each value that became such a string.
  std::vector<std::string> warnings;
};

json_report result_json(const run_result& result);

/// One option's value: null where it is not set.
nlohmann::ordered_json value_json(const option_value& value);
/// All options by name, in the table's order.
nlohmann::ordered_json options_json(const eval_options& options);

}  // namespace troupe
