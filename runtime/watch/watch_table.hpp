#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What came of a checkpoint.
struct watch_row {
  std::uint64_t step = 0;
  std::string checkpoint = {};
  /// checkpoint_stamp::hash at the time.
  std::uint64_t stamp = 0;
  double seconds = 0;
  /// The object `metrics` of result.json; null where the evaluation failed.
  nlohmann::ordered_json metrics = nullptr;
  /// Why it failed.
  std::optional<error> problem = std::nullopt;
};

/// As it stands in the table, and in the result of `troupe watch --json`.
[[nodiscard]] nlohmann::ordered_json json_of(const watch_row& row);

/// The table of a watch: a file of lines, each of which is a JSON object. The first one has the options that change the
/// numbers, so that a table has numbers of one kind. A row is appended and synchronized with the disk as a whole line;
/// a part of a line that a killed program has left is cut off by the next one. One program at a time has it open. One
/// thread.
class watch_table {
 public:
  /// Makes folder and file where they are not there. E0104: it was begun with other options, which it names; E0611: it
  /// cannot be written, is larger than 64 MiB, holds something else, or another program has it open.
  [[nodiscard]] static expected<std::unique_ptr<watch_table>> open(const std::filesystem::path& file,
                                                                   const nlohmann::ordered_json& options);
  watch_table(const watch_table&) = delete;
  watch_table& operator=(const watch_table&) = delete;
  ~watch_table() = default;

  /// E0611.
  [[nodiscard]] expected<void> append(watch_row row);
  [[nodiscard]] const std::vector<watch_row>& rows() const noexcept { return rows_; }
  /// Whether nothing is left to do: it was evaluated, or failed as it is.
  [[nodiscard]] bool has(const std::string& checkpoint) const;
  [[nodiscard]] bool has_failed(const std::string& checkpoint, std::uint64_t stamp) const;

 private:
  watch_table(std::filesystem::path file, unique_fd fd) : file_(std::move(file)), fd_(std::move(fd)) {}
  [[nodiscard]] expected<void> read(const nlohmann::ordered_json& options);
  [[nodiscard]] expected<void> write_line(const nlohmann::ordered_json& line);

  const std::filesystem::path file_;
  const unique_fd fd_;
  std::vector<watch_row> rows_;
};

}  // namespace troupe
