#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "command.hpp"
#include <troupe/result.hpp>

namespace troupe::cli {

/// A run that was told to end says so by its status, whatever else stands in its errors. `ok` without errors.
[[nodiscard]] exit_status status_of_errors(const std::vector<error>& errors);
/// The same. Lost work is a status of its own.
[[nodiscard]] exit_status status_of_result(const run_result& result);

/// Writes a file of the result, whole or not at all, and says its name on stderr. E0611.
[[nodiscard]] expected<void> write_result_file(const std::filesystem::path& path, const std::string& content);

/// Returns unless a thread was left behind, that goes on using what would be destroyed.
[[nodiscard]] expected<exit_status> leave(expected<exit_status> status);

}  // namespace troupe::cli
