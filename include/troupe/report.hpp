#pragma once

#include <string>
#include <vector>

#include <troupe/result.hpp>

namespace troupe {

struct json_report {
  /// One JSON object with a final newline and the names of docs/result.md, schema_version 1. Reading a number gives the
  /// same bits. NaN and infinities are the strings "NaN", "Infinity" and "-Infinity".
  std::string text;
  /// One line for each value that became such a string.
  std::vector<std::string> warnings;
};

json_report result_json(const run_result& result);

/// The result as a table for people: metrics, rate, and per stage layers, busy share and micro-batches. Lines have at
/// most `width` columns (at least 40); an ellipsis shortens lists of layers. The text ends with a newline.
std::string result_table(const run_result& result, std::size_t width);

}  // namespace troupe
