#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace troupe {

/// What append_json() takes of a whole micro-batch: contiguous, and int64 in place of other integers and of bool.
[[nodiscard]] at::Tensor json_values(const at::Tensor& values);

/// Appends sample `row` of what json_values() gave to a line of JSON: a number where a sample has one value, nested
/// arrays otherwise. Integers are exact; a float32 or float64 is the shortest text that gives the same number back;
/// float16 and bfloat16 as float32. NaN and infinities are the strings "NaN", "Infinity", "-Infinity", as in
/// result.json.
void append_json(std::string& line, const at::Tensor& values, std::int64_t row);

}  // namespace troupe
