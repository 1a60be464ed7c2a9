#include "compare_report.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "messages/printable.hpp"
#include "runtime/json/json_number.hpp"
#include "runtime/report/single_value.hpp"
#include "runtime/report/text_table.hpp"

namespace troupe::cli {
namespace {

using json = nlohmann::ordered_json;
using align = text_table::align;

constexpr int schema_version = 1;

std::string short_number(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.6g}", value);
}
std::string signed_number(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:+.6g}", value);
}

/// A, B, ... Z, then by number.
std::string letter(std::size_t model) {
  return model < 26 ? std::string(1, static_cast<char>('A' + model)) : std::to_string(model + 1);
}

std::string values_text(const compare_request& asked, const comparison& made, std::size_t width) {
  std::vector columns{align::left};
  std::vector<std::string> head{""};
  for (const metric_value& each : made.result.sinks.front().metrics) {
    if (!has_single_value(each)) continue;
    columns.push_back(align::right);
    head.push_back(each.name);
  }
  columns.push_back(align::left);
  head.emplace_back("model");
  text_table table(columns);
  table.add(head);
  for (std::size_t model = 0; model < asked.models.size(); ++model) {
    std::vector<std::string> cells{letter(model)};
    for (const metric_value& each : made.result.sinks[model].metrics) {
      if (has_single_value(each)) cells.push_back(short_number(each.value()));
    }
    cells.push_back(asked.models[model]);
    table.add(cells);
  }
  return table.text(width);
}

std::string differences_text(const compare_request& asked, const comparison& made, std::size_t width) {
  text_table table({align::left, align::left, align::right, align::right, align::right, align::right, align::right,
                    align::right, align::right});
  table.add({"less A", "metric", "difference", "from", "to", "std error", "only A", "only it", "p"});
  for (std::size_t model = 0; model < made.differences.size(); ++model) {
    for (const metric_difference& each : made.differences[model]) {
      if (std::isnan(each.difference) && !each.interval) continue;
      const auto interval = each.interval.value_or(bootstrap_interval{NAN, NAN, NAN});
      std::vector<std::string> cells{letter(model + 1),
                                     each.metric,
                                     signed_number(each.difference),
                                     signed_number(interval.low),
                                     signed_number(interval.high),
                                     short_number(interval.standard_error)};
      cells.push_back(each.test ? std::to_string(each.test->only_first) : "-");
      cells.push_back(each.test ? std::to_string(each.test->only_this) : "-");
      cells.push_back(each.test ? fmt::format("{:.3g}", each.test->p) : "-");
      table.add(cells);
    }
  }
  return fmt::format("intervals of {:g} %, {} resamples, seed {}\n{}", 100 * asked.confidence, asked.resamples,
                     asked.seed, table.text(width));
}

json difference_json(const metric_difference& each) {
  json one = {{"metric", each.metric}, {"difference", json_number(each.difference)}, {"interval", nullptr}};
  if (each.interval) {
    one["interval"] = {{"low", json_number(each.interval->low)},
                       {"high", json_number(each.interval->high)},
                       {"standard_error", json_number(each.interval->standard_error)}};
  }
  one["mcnemar"] = nullptr;
  if (each.test) {
    one["mcnemar"] = {
        {"only_first", each.test->only_first}, {"only_this", each.test->only_this}, {"p", json_number(each.test->p)}};
  }
  return one;
}

}  // namespace

std::string compare_text(const compare_request& asked, const comparison& made, std::size_t width) {
  const run_result& result = made.result;
  std::string text = fmt::format(
      "data     {}\nsamples  {} in {} micro-batches{}\ntime     {:.3f} s\n", printable(result.data), result.samples,
      result.micro_batches, result.partial ? ", PARTIAL" : "", std::chrono::duration<double>(result.wall_time).count());
  text += fmt::format("delivery {} of {} micro-batches folded, {} replayed, {} lost\n\n", result.delivery.folded,
                      result.delivery.expected, result.delivery.replayed, result.delivery.lost);
  text += values_text(asked, made, width);
  return made.differences.empty() ? text : text + "\n" + differences_text(asked, made, width);
}

std::string compare_json(const compare_request& asked, const comparison& made) {
  const json all = json::parse(result_json(made.result).text);
  json models = json::array();
  for (std::size_t model = 0; model < asked.models.size(); ++model) {
    const json& sink = all["sinks"][made.result.sinks[model].name];
    json one = {{"model", asked.models[model]},
                {"samples", sink["samples"]},
                {"samples_with_nan", sink["samples_with_nan"]},
                {"samples_with_infinity", sink["samples_with_infinity"]},
                {"metrics", sink["metrics"]}};
    json differences = json::array();
    if (model > 0 && model <= made.differences.size()) {
      for (const metric_difference& each : made.differences[model - 1]) differences.push_back(difference_json(each));
    }
    one["differences"] = differences;
    models.push_back(std::move(one));
  }
  json text = {{"schema_version", schema_version},
               {"data", all["data"]},
               {"samples", all["samples"]},
               {"micro_batches", all["micro_batches"]},
               {"confidence", asked.confidence},
               {"resamples", asked.resamples},
               {"seed", asked.seed},
               {"models", models},
               {"delivery", all["delivery"]},
               {"wall_seconds", all["wall_seconds"]}};
  for (const char* key : {"warnings", "partial", "errors"}) {
    if (all.contains(key)) text[key] = all[key];
  }
  return text.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace troupe::cli
