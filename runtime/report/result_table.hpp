#pragma once

#include <string>

#include "runtime/report/run_result.hpp"

namespace troupe {

/// The result as a table for people: metrics, rate, and per stage layers, busy share and micro-batches. Lines have at
/// most `width` columns (at least 40); an ellipsis shortens lists of layers. The text ends with a newline.
std::string result_table(const run_result& result, std::size_t width);

}  // namespace troupe
