#include "watch_report.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "messages/printable.hpp"
#include "runtime/report/text_table.hpp"

namespace troupe::cli {
namespace {

constexpr int schema_version = 1;

std::string short_number(double value) {
  return fmt::format("{:.6g}", value);
}

/// The first number of each metric.
std::vector<scalar> values_of(const watch_row& row) {
  std::vector<scalar> values;
  for (const auto& [metric, fields] : row.metrics.items()) {
    if (const auto value = monitored_value{metric}.of(row.metrics)) values.push_back({metric, *value});
  }
  return values;
}

std::size_t failed_in(const watch_report& report) {
  return static_cast<std::size_t>(
      std::ranges::count_if(report.rows, [](const watch_row& row) { return row.problem.has_value(); }));
}

const watch_row* best_row(const watch_report& report) {
  const auto is_best = [&](const watch_row& row) { return row.checkpoint == report.best && !row.problem; };
  const auto found = std::ranges::find_if(report.rows, is_best);
  return found == report.rows.end() ? nullptr : &*found;
}

std::string why(const watch_request& asked, const watch_report& report) {
  switch (report.stop) {
    case watch_stop::once:
      return "all that is there has been evaluated";
    case watch_stop::timeout:
      return fmt::format("nothing has changed for {:g} s", std::chrono::duration<double>(*asked.timeout).count());
    case watch_stop::patience:
      return fmt::format("{} checkpoint{} without improvement", *asked.patience, *asked.patience == 1 ? "" : "s");
    case watch_stop::interrupted:
      return "interrupted";
  }
  return "";
}

std::string rows_text(const watch_report& report, std::size_t width) {
  std::vector<std::string> names;
  for (const watch_row& row : report.rows) {
    for (const scalar& each : values_of(row)) {
      if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
    }
  }
  std::vector columns{text_table::align::right, text_table::align::left};
  columns.resize(columns.size() + names.size(), text_table::align::right);
  columns.push_back(text_table::align::left);
  text_table table(columns);
  std::vector<std::string> head{"step", "checkpoint"};
  head.insert(head.end(), names.begin(), names.end());
  head.emplace_back();
  table.add(head);
  for (const watch_row& row : report.rows) {
    std::map<std::string, double> values;
    for (const scalar& each : values_of(row)) values.emplace(each.name, each.value);
    std::vector<std::string> cells{std::to_string(row.step), row.checkpoint};
    for (const std::string& name : names) cells.push_back(values.contains(name) ? short_number(values[name]) : "-");
    const bool is_best = row.checkpoint == report.best && !row.problem;
    cells.push_back(row.problem ? "failed, " + code_name(row.problem->code) : is_best ? "best" : "");
    table.add(cells);
  }
  return table.text(width);
}

}  // namespace

std::string watch_table_text(const watch_request& asked, const watch_report& report, std::size_t width) {
  const std::size_t failed = failed_in(report);
  const std::size_t evaluated = report.rows.size() - failed;
  std::string text = fmt::format("folder     {}\nmonitor    {} ({})\n", printable(asked.folder.string()),
                                 printable(asked.monitor.text()), asked.larger_is_better ? "max" : "min");
  text += fmt::format("evaluated  {} checkpoint{}, {} failed\nstopped    {}\n", evaluated, evaluated == 1 ? "" : "s",
                      failed, why(asked, report));
  if (const watch_row* best = best_row(report)) {
    text += fmt::format("best       step {}, {}, {} {}\n", best->step, printable(best->checkpoint),
                        printable(asked.monitor.text()), short_number(report.best_value));
  }
  if (!report.rows.empty()) text += "\n" + rows_text(report, width);
  return text;
}

std::string watch_json(const watch_request& asked, const watch_report& report) {
  nlohmann::ordered_json best = nullptr;
  if (const watch_row* row = best_row(report)) best = {{"step", row->step}, {"checkpoint", row->checkpoint}};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const watch_row& row : report.rows) rows.push_back(json_of(row));
  const std::size_t failed = failed_in(report);
  const nlohmann::ordered_json made = {{"schema_version", schema_version},
                                       {"folder", asked.folder.string()},
                                       {"monitor", asked.monitor.text()},
                                       {"mode", asked.larger_is_better ? "max" : "min"},
                                       {"stopped", name_of(report.stop)},
                                       {"evaluated", report.rows.size() - failed},
                                       {"failed", failed},
                                       {"best", best},
                                       {"checkpoints", rows}};
  return made.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string row_line(const watch_row& row, bool is_best) {
  std::string line = fmt::format("step {}  {}", row.step, printable(row.checkpoint));
  if (row.problem) return line + "  failed\n  " + printable_lines(to_string(*row.problem)) + "\n";
  for (const scalar& each : values_of(row))
    line += fmt::format("  {} {}", printable(each.name), short_number(each.value));
  return line + (is_best ? "  best\n" : "\n");
}

}  // namespace troupe::cli
