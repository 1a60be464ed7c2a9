#include <nlohmann/json.hpp>

#include "runtime/report/option_json.hpp"
#include "runtime/report/result_parts.hpp"
#include <troupe/result.hpp>

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 2;

json delivery_json(const delivery_report& delivery) {
  return {{"expected", delivery.expected}, {"folded", delivery.folded},
          {"replayed", delivery.replayed}, {"duplicates_dropped", delivery.duplicates_dropped},
          {"lost", delivery.lost},         {"resumed", delivery.resumed}};
}

struct value_writer {
  json operator()(std::monostate) const { return nullptr; }
  template <class T>
  json operator()(const T& value) const {
    return value;
  }
};

}  // namespace

json_report scores_json(const std::vector<metric_value>& metrics) {
  number_writer number;
  const json object = {{"metrics", metrics_json(metrics, number)}};
  return {object.dump(2) + "\n", number.take_warnings()};
}

nlohmann::ordered_json value_json(const option_value& value) {
  return std::visit(value_writer{}, value);
}

nlohmann::ordered_json options_json(const eval_options& options) {
  json object = json::object();
  for (const option& each : all_options()) object[std::string(each.name)] = value_json(each.get(options));
  return object;
}

json_report result_json(const run_result& result) {
  number_writer number;
  json object = {{"schema_version", schema_version},
                 {"model", result.model},
                 {"data", result.data},
                 {"samples", result.samples},
                 {"micro_batches", result.micro_batches},
                 {"samples_with_nan", result.samples_with_nan},
                 {"samples_with_infinity", result.samples_with_infinity}};
  if (result.left_out > 0) object["left_out"] = result.left_out;
  object["metrics"] = metrics_json(result.metrics, number);
  object["delivery"] = delivery_json(result.delivery);
  object["stages"] = stages_json(result.stages, number);
  if (!result.cut_by.empty()) object["cut_by"] = result.cut_by;
  if (!result.bits_depend_on.empty()) object["bits_depend_on"] = result.bits_depend_on;
  if (!result.plain_pipelines.empty()) object["plain_pipelines"] = result.plain_pipelines;
  if (!result.warnings.empty()) object["warnings"] = result.warnings;
  if (result.sinks.size() > 1) {
    json sinks = json::object();
    for (const sink_report& each : result.sinks) {
      sinks[each.name] = {{"samples", each.samples},
                          {"samples_with_nan", each.samples_with_nan},
                          {"samples_with_infinity", each.samples_with_infinity},
                          {"metrics", metrics_json(each.metrics, number)}};
    }
    object["sinks"] = std::move(sinks);
    for (std::size_t i = 0; i < result.stages.size(); ++i) object["stages"][i]["samples"] = result.stages[i].samples;
  }
  object["wall_seconds"] = in_seconds(result.wall_time);
  object["samples_per_second"] = number(result.samples_per_second, "samples_per_second");
  object["faults"] = faults_json(result.faults);
  object["config"] = options_json(result.config);
  if (result.partial) {
    object["partial"] = true;
    object["errors"] = errors_json(result.errors);
  }
  // File names need not be UTF-8: bytes that are not become U+FFFD.
  return {object.dump(2, ' ', false, json::error_handler_t::replace) + "\n", number.take_warnings()};
}

}  // namespace troupe
