#pragma once

#include "command.hpp"
#include <troupe/result.hpp>

namespace troupe::cli {

/// A run that was told to end says so by its status, whatever else stands in its errors.
[[nodiscard]] exit_status status_of_result(const run_result& result);

/// Returns unless a thread was left behind, that goes on using what would be destroyed.
[[nodiscard]] expected<exit_status> leave(expected<exit_status> status);

}  // namespace troupe::cli
