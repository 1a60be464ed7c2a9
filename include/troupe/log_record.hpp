#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace troupe {

enum class log_level : std::uint8_t { debug, info, warning, error };

enum class log_format : std::uint8_t {
  text,  ///< to_string() of each record
  json,  ///< one object per line: time (UTC, ISO 8601), level, message, rank, stage
};

/// One message of the log.
struct log_record {
  log_level level = log_level::info;
  /// Any bytes, any number of lines: models and workers write them, too. An error is the text of troupe::error.
  std::string text;
  /// Number of a worker process, in the order in which they were started; nothing for the driver.
  std::optional<std::uint32_t> rank = std::nullopt;
  /// Name of a stage and its replica, or "try-out"; empty for the run as a whole.
  std::string stage = {};
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
};

/// Takes records from any thread, and does not wait.
using log_function = std::function<void(log_record)>;

/// "warning: [stage 1, rank 3] text", without time and end of line. Errors begin with their code, and info with
/// nothing. Control characters and invalid UTF-8 are written as \x1b, and every further line of the text is indented,
/// so that no text can drive a terminal or look like another record.
std::string to_string(const log_record& record);

/// "debug", "info", "warning", "error".
std::string level_name(log_level level);

}  // namespace troupe
