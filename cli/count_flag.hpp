#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe::cli {

/// A count from 1 that is no option of an evaluation, read with the same rules and messages; "num_nodes" is
/// --num-nodes. Errors: E0103.
expected<std::uint64_t> read_count(std::string_view name, std::string_view text, double maximum);

/// The same for a number that may be 0.
expected<std::uint64_t> read_number(std::string_view name, std::string_view text, double maximum);

/// The same for a time in seconds, which may have a fraction.
expected<std::chrono::milliseconds> read_seconds(std::string_view name, std::string_view text, double minimum);

/// A real number.
expected<double> read_real(std::string_view name, std::string_view text, double minimum, double maximum);

/// The same in minutes.
expected<std::chrono::milliseconds> read_minutes(std::string_view name, std::string_view text);

}  // namespace troupe::cli
