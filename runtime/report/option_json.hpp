#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/config/option_table.hpp"
#include <troupe/options.hpp>

namespace troupe {

/// The value of one option; null if it is not set.
nlohmann::ordered_json value_json(const option_value& value);
/// All options by name, in the table's order.
nlohmann::ordered_json options_json(const eval_options& options);

}  // namespace troupe
