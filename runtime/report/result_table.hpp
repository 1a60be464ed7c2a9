#pragma once

#include <string>

#include "runtime/report/run_result.hpp"

namespace troupe {

/// The result for people: metrics, rate, and per stage its layers, busy share and micro-batches. No line is longer than
/// `width` columns (40 at least); lists of layers are cut with an ellipsis. Ends with a newline.
std::string result_table(const run_result& result, std::size_t width);

}  // namespace troupe
