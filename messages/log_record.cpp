#include <array>
#include <cstddef>
#include <string_view>

#include "messages/printable.hpp"
#include <troupe/log_record.hpp>

namespace troupe {

std::string level_name(log_level level) {
  static constexpr std::array<std::string_view, 4> names = {"debug", "info", "warning", "error"};
  return std::string(names.at(static_cast<std::size_t>(level)));
}

std::string to_string(const log_record& record) {
  std::string line;
  if (record.level == log_level::debug || record.level == log_level::warning) line = level_name(record.level) + ": ";
  if (record.rank || !record.stage.empty()) {
    line += '[' + printable_lines(record.stage);
    if (record.rank) line += (record.stage.empty() ? "rank " : ", rank ") + std::to_string(*record.rank);
    line += "] ";
  }
  return line + printable_lines(record.text);
}

}  // namespace troupe
