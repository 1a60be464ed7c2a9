#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/watch/checkpoint_state.hpp"
#include "runtime/watch/monitored_value.hpp"
#include "runtime/watch/watch_table.hpp"
#include <troupe/scalars.hpp>

namespace troupe {

/// The name of the table in the folder of the state, and of the link to the best checkpoint in the folder that is
/// watched.
inline constexpr const char* watch_table_name = "table.jsonl";
inline constexpr const char* best_link_name = "best";

struct watch_request {
  std::filesystem::path folder = {};
  /// For the table.
  std::filesystem::path state = {};
  monitored_value monitor = {};
  bool larger_is_better = true;
  /// Ends the watch after so many checkpoints in a row that are not better than the best.
  std::optional<std::uint64_t> patience = std::nullopt;
  /// Ends it when nothing is left to do.
  bool once = false;
  /// Ends it when nothing has changed for so long.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  watch_patience waits = {};
  /// The options that change the numbers (watch_table).
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
};

/// What a watch needs from outside; tests have a time of their own.
struct watch_means {
  /// The object `metrics` of the result. E0606 ends the watch as interrupted. An error that is not the checkpoint's
  /// (is_of_the_watch()) ends it, too; others are rows of the table.
  std::function<expected<nlohmann::ordered_json>(const seen_checkpoint&)> evaluate;
  /// Waits for so long at most; false: the watch was interrupted.
  std::function<bool(std::chrono::milliseconds)> pause;
  /// A row was added; `is_best`: it is the best one now.
  std::function<void(const watch_row&, bool is_best)> tell = {};
  /// A checkpoint that could not be evaluated is waited for.
  std::function<void(const seen_checkpoint&, const error&)> tell_doubt = {};
  std::function<std::chrono::steady_clock::time_point()> now = &std::chrono::steady_clock::now;
  std::function<std::filesystem::file_time_type()> wall_now = &std::filesystem::file_time_type::clock::now;
  /// Null: no scalars are logged.
  scalar_log* scalars = nullptr;
};

enum class watch_stop : std::uint8_t { once, timeout, patience, interrupted };
[[nodiscard]] std::string_view name_of(watch_stop stop) noexcept;

struct watch_report {
  watch_stop stop = watch_stop::once;
  std::vector<watch_row> rows = {};
  std::optional<std::string> best = std::nullopt;
  double best_value = 0;
};

/// Whether an error would come with every checkpoint: of the command line, the data, or the configuration.
[[nodiscard]] bool is_of_the_watch(const error& problem) noexcept;

/// Evaluates the checkpoints in a folder as they appear, those of smaller steps first, one at a time, each once: also
/// over several programs that are killed at any moment, as the table is kept on disk. After each row the link `best` in
/// the folder leads to the best checkpoint, and the numbers of the row are written as scalars of its step. All three
/// are made good at the start where a killed program has left them behind.
///
/// What the loop does in each round, in this order: ends, if the patience is used up; looks at the folder; evaluates
/// the first checkpoint that is ready; or ends, if nothing is to come; or pauses, at most 250 ms. Errors:
/// checkpoints_in(), watch_table, replace_link(), scalar_log, is_of_the_watch(), and E0102 for a monitored value that
/// the result does not have.
[[nodiscard]] expected<watch_report> watch(const watch_request& asked, const watch_means& means);

}  // namespace troupe
