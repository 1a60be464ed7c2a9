#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "messages/printable.hpp"
#include "runtime/report/result_table_parts.hpp"
#include "runtime/report/text_table.hpp"
#include <troupe/result.hpp>

namespace troupe {
namespace {

using align = text_table::align;
using field = metric_value::field;

constexpr std::size_t width_min = 40;
/// Longer lists (a confusion matrix, thousands of classes) are for --json.
constexpr std::size_t list_rows_max = 32;

/// The quotient of nothing by nothing.
constexpr const char* no_value = "-";

std::string item_text(const field& item, std::size_t index) {
  if (item.is_count) return index < item.counts.size() ? fmt::format("{}", item.counts[index]) : "";
  if (index >= item.reals.size()) return "";
  const double real = item.reals[index];
  return std::isnan(real) ? "nan" : fmt::format("{:.5g}", real);  // 0 / 0 has a sign on some processors
}

std::size_t items(const field& item) {
  return item.is_count ? item.counts.size() : item.reals.size();
}

bool is_list(const field& each) {
  return each.is_list;
}

/// It has no number for the summary.
bool is_listed(const metric_value& metric) {
  return !metric.fields.empty() && std::ranges::all_of(metric.fields, is_list);
}

const field* find_field(const metric_value& metric, const std::string& name) {
  const auto found =
      std::find_if(metric.fields.begin(), metric.fields.end(), [&](const field& each) { return each.name == name; });
  return found == metric.fields.end() || found->is_list ? nullptr : &*found;
}

/// "macro, micro 0.98": which field the value is, and the other numbers.
std::string other_numbers(const metric_value& metric) {
  std::string text;
  std::size_t numbers = 0;
  for (const field& each : metric.fields) {
    if (each.is_list) continue;
    if (numbers++ == 0) {
      text = each.name;
    } else {
      text += ", " + each.name + " " + item_text(each, 0);
    }
  }
  return numbers < 2 ? "" : text;
}

/// What the value, which is the first field, stands on; empty where the form of the metric does not say it.
std::string basis(const metric_value& metric) {
  const auto text_of = [&](const char* name) {
    const field* const found = find_field(metric, name);
    return found == nullptr ? std::string(no_value) : item_text(*found, 0);
  };
  if (metric.form == metric_form::share) return text_of("correct") + " of " + text_of("total");
  return metric.form == metric_form::mean ? "mean over " + text_of("count") : "";
}

/// Nothing where all outputs were numbers, as they should be.
void add_odd_samples(text_table& table, std::uint64_t with_nan, std::uint64_t with_infinity,
                     const std::string& indent) {
  std::string text = with_nan > 0 ? fmt::format("with NaN: {}", with_nan) : "";
  if (with_infinity > 0) text += fmt::format("{}with an infinity: {}", text.empty() ? "" : ", ", with_infinity);
  if (!text.empty()) table.add({indent + "outputs", "samples " + text});
}

/// A metric of no samples is not a number; one of some samples that is none says something about the model.
void add_metrics(text_table& table, const std::vector<metric_value>& metrics, std::uint64_t samples,
                 const std::string& indent) {
  for (const metric_value& metric : metrics) {
    if (is_listed(metric) || metric.fields.empty()) continue;
    const std::string value = samples == 0 ? no_value : item_text(metric.fields.front(), 0);
    std::string under = basis(metric);
    if (under.empty() && samples > 0) under = other_numbers(metric);
    const std::string shown = under.empty() ? value : fmt::format("{}  ({})", value, under);
    table.add({indent + metric.name, shown});
  }
}

std::string seconds(std::chrono::nanoseconds time) {
  return fmt::format("{:.3f} s", std::chrono::duration<double>(time).count());
}

/// In lines of whole words: what a table shortens is not read.
void add_whole(text_table& table, std::string name, std::string_view text, std::size_t width) {
  constexpr std::size_t beside = 20;
  const std::size_t columns = width - beside;
  while (!text.empty()) {
    const std::size_t space = text.size() <= columns ? std::string_view::npos : text.rfind(' ', columns);
    const std::size_t end = text.size() <= columns ? text.size() : space == std::string_view::npos ? columns : space;
    table.add({std::exchange(name, ""), std::string(text.substr(0, end))});
    text.remove_prefix(std::min(text.size(), space == std::string_view::npos ? end : end + 1));
  }
}

std::string summary(const run_result& result, std::size_t width) {
  text_table table({align::left, align::left});
  if (result.partial) table.add({"PARTIAL", "not everything that was asked for was evaluated"});
  table.add({"model", result.model});
  table.add({"data", result.data});
  const std::string left_out = result.left_out > 0 ? fmt::format(", {} left out", result.left_out) : "";
  table.add({"samples", fmt::format("{} in {} micro-batch{}{}", result.samples, result.micro_batches,
                                    result.micro_batches == 1 ? "" : "es", left_out)});
  table.add({"time", fmt::format("{}, {:.1f} samples/s", seconds(result.wall_time), result.samples_per_second)});
  const delivery_report& d = result.delivery;
  const std::string resumed = d.resumed > 0 ? fmt::format(", {} of them from the journal", d.resumed) : "";
  table.add({"delivery", fmt::format("{} of {} micro-batches folded{}, {} replayed, {} lost", d.folded, d.expected,
                                     resumed, d.replayed, d.lost)});
  if (result.sinks.size() < 2) {
    add_odd_samples(table, result.samples_with_nan, result.samples_with_infinity, {});
    add_metrics(table, result.metrics, result.samples, {});
  }
  for (const sink_report& sink : result.sinks) {
    if (result.sinks.size() < 2) break;
    table.add({sink.name, fmt::format("{} samples", sink.samples)});
    add_odd_samples(table, sink.samples_with_nan, sink.samples_with_infinity, "  ");
    add_metrics(table, sink.metrics, sink.samples, "  ");
  }
  for (const std::string& each : result.warnings) add_whole(table, "WARNING", each, width);
  return table.text(width);
}

/// How many columns of predicted classes fit beside the column of true ones, "..." if some are left out, and "other".
std::size_t columns_that_fit(const metric_value& matrix, std::size_t rows, std::size_t width) {
  const std::size_t classes = matrix.fields.size() - 1;
  constexpr std::size_t gap = 2;
  const auto wide = [&](const std::string& head, const auto& text_of) {
    std::size_t most = head.size();
    for (std::size_t row = 0; row < rows; ++row) most = std::max(most, std::string(text_of(row)).size());
    return most;
  };
  std::size_t used = wide("true", [](std::size_t row) { return fmt::format("{}", row); }) + gap +
                     wide("other", [&](std::size_t row) { return item_text(matrix.fields.back(), row); });
  for (std::size_t column = 0; column < classes; ++column) {
    used +=
        gap + wide(fmt::format("{}", column), [&](std::size_t row) { return item_text(matrix.fields[row], column); });
    const std::size_t left_out = column + 1 == classes ? 0 : gap + 1;
    if (used + left_out > width) return column;
  }
  return classes;
}

/// A row per true class, as scikit-learn has it. Where the width is too small columns in the middle are left out, as
/// the last one tells of predictions that none of them has.
std::string matrix_table(const metric_value& matrix, std::size_t width) {
  const std::size_t classes = matrix.fields.size() - 1;
  const std::size_t rows = std::min(classes, list_rows_max);
  const std::size_t columns = columns_that_fit(matrix, rows, width);
  const bool is_cut = columns < classes;
  std::vector<std::string> header = {"true"};
  for (std::size_t column = 0; column < columns; ++column) header.push_back(fmt::format("{}", column));
  if (is_cut) header.emplace_back("…");
  header.emplace_back("other");
  text_table table(std::vector<align>(header.size(), align::right));
  table.add(std::move(header));
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::string> cells = {fmt::format("{}", row)};
    for (std::size_t column = 0; column < columns; ++column) cells.push_back(item_text(matrix.fields[row], column));
    if (is_cut) cells.emplace_back("…");
    cells.push_back(item_text(matrix.fields.back(), row));
    table.add(std::move(cells));
  }
  std::string text = shortened(matrix.name + ": rows are true classes, columns predicted ones", width) + "\n";
  text += table.text(width);
  if (is_cut || rows < classes) text += fmt::format("--json shows all {} classes\n", classes);
  return text;
}

std::string list_table(const metric_value& metric, std::size_t width) {
  std::vector<field> lists;
  std::ranges::copy_if(metric.fields, std::back_inserter(lists), is_list);
  std::size_t rows = 0;
  std::vector<std::string> header = {metric.form == metric_form::per_class ? "class" : "index"};
  for (const field& each : lists) {
    rows = std::max(rows, items(each));
    header.push_back(each.name);
  }
  text_table table(std::vector<align>(header.size(), align::right));
  table.add(std::move(header));
  for (std::size_t i = 0; i < std::min(rows, list_rows_max); ++i) {
    std::vector<std::string> cells = {fmt::format("{}", i)};
    for (const field& each : lists) cells.push_back(item_text(each, i));
    table.add(std::move(cells));
  }
  std::string text = printable(metric.name) + "\n" + table.text(width);
  if (rows > list_rows_max) text += fmt::format("... {} more with --json\n", rows - list_rows_max);
  return text;
}

}  // namespace

std::string stage_table(const std::vector<stage_report>& stages, std::size_t width) {
  text_table table({align::left, align::right, align::right, align::right, align::right, align::left});
  table.add({"stage", "replica", "busy", "forward", "micro-batches", "layers"});
  for (const stage_report& stage : stages) {
    table.add({stage.name, fmt::format("{}", stage.replica), fmt::format("{:.1f} %", 100 * stage.busy_fraction),
               seconds(stage.forward_time), fmt::format("{}", stage.micro_batches), listed(stage.layers)});
  }
  return table.text(width);
}

std::string fault_table(const std::vector<fault_report>& faults, std::size_t width) {
  text_table table({align::left, align::right, align::right, align::right, align::right});
  table.add({"fault", "times", "after", "recovered in", "replayed"});
  const auto known = [](const std::optional<std::chrono::nanoseconds>& time) {
    return time ? seconds(*time) : std::string(no_value);
  };
  for (const fault_report& one : faults) {
    table.add({one.fault, fmt::format("{}", one.times), known(one.after), known(one.recovery_time),
               fmt::format("{}", one.replayed)});
    if (one.note) table.add({"└ " + *one.note, "", "", "", ""});
  }
  return table.text(width);
}

std::string result_table(const run_result& result, std::size_t width) {
  width = std::max(width, width_min);
  std::string text = summary(result, width);
  for (const metric_value& metric : result.metrics) {
    if (result.samples == 0 || std::ranges::none_of(metric.fields, is_list)) continue;
    const bool is_matrix = metric.form == metric_form::matrix && is_listed(metric);
    text += fmt::format("\n{}", is_matrix ? matrix_table(metric, width) : list_table(metric, width));
  }
  if (!result.faults.empty()) text += fmt::format("\n{}", fault_table(result.faults, width));
  if (!result.stages.empty()) text += fmt::format("\n{}", stage_table(result.stages, width));
  return text;
}

}  // namespace troupe
