#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "messages/printable.hpp"
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
  return index < item.reals.size() ? fmt::format("{:.5g}", item.reals[index]) : "";
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

/// A list is one of classes where its metric or it says so in its name.
bool is_per_class(const metric_value& metric) {
  return metric.name.starts_with("per_class") || std::ranges::any_of(metric.fields, [](const field& each) {
           return each.is_list && each.name.starts_with("per_class");
         });
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

/// "9904 of 10000", "mean over 10000": what the value stands on.
std::string basis(const metric_value& metric) {
  const field* correct = find_field(metric, "correct");
  const field* total = find_field(metric, "total");
  if (correct != nullptr && total != nullptr) return item_text(*correct, 0) + " of " + item_text(*total, 0);
  const field* count = find_field(metric, "count");
  return count == nullptr ? "" : "mean over " + item_text(*count, 0);
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
    add_metrics(table, result.metrics, result.samples, {});
  }
  for (const sink_report& sink : result.sinks) {
    if (result.sinks.size() < 2) break;
    table.add({sink.name, fmt::format("{} samples", sink.samples)});
    add_metrics(table, sink.metrics, sink.samples, "  ");
  }
  for (const std::string& each : result.warnings) add_whole(table, "WARNING", each, width);
  return table.text(width);
}

std::string list_table(const metric_value& metric, std::size_t width) {
  std::vector<field> lists;
  std::ranges::copy_if(metric.fields, std::back_inserter(lists), is_list);
  std::size_t rows = 0;
  std::vector<std::string> header = {is_per_class(metric) ? "class" : "index"};
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
  }
  return table.text(width);
}

}  // namespace

std::string result_table(const run_result& result, std::size_t width) {
  width = std::max(width, width_min);
  std::string text = summary(result, width);
  for (const metric_value& metric : result.metrics) {
    if (result.samples == 0 || std::ranges::none_of(metric.fields, is_list)) continue;
    text += fmt::format("\n{}", list_table(metric, width));
  }
  if (!result.faults.empty()) text += fmt::format("\n{}", fault_table(result.faults, width));
  if (!result.stages.empty()) text += fmt::format("\n{}", stage_table(result.stages, width));
  return text;
}

}  // namespace troupe
