#pragma once

#include <string>

#include "runtime/watch/watch.hpp"

namespace troupe::cli {

/// The result of `troupe watch` as a table for people, and as the JSON object of docs/schema/watch.schema.json.
[[nodiscard]] std::string watch_table_text(const watch_request& asked, const watch_report& report, std::size_t width);
[[nodiscard]] std::string watch_json(const watch_request& asked, const watch_report& report);

/// One line about a row, as it is added.
[[nodiscard]] std::string row_line(const watch_row& row, bool is_best);

}  // namespace troupe::cli
