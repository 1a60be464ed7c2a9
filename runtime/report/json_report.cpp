#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/json/json_number.hpp"
#include "runtime/report/option_json.hpp"
#include <troupe/result.hpp>

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 2;

/// Turns doubles into JSON and keeps note of those that JSON cannot say.
class number_writer {
 public:
  json operator()(double value, const std::string& name) {
    if (const char* word = word_for_number(value)) {
      warnings_.push_back(fmt::format("{} is {}; JSON has no such number, it is written as a string", name, word));
    }
    return json_number(value);
  }
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  std::vector<std::string> warnings_;
};

json field_json(const metric_value::field& field, const std::string& name, number_writer& number) {
  json items = json::array();
  for (const std::uint64_t count : field.counts) items.push_back(count);
  for (std::size_t i = 0; i < field.reals.size(); ++i) {
    items.push_back(number(field.reals[i], field.is_list ? fmt::format("{}[{}]", name, i) : name));
  }
  if (field.is_list) return items;
  return items.empty() ? json() : items.front();
}

json metrics_json(const std::vector<metric_value>& metrics, number_writer& number) {
  json object = json::object();
  for (const metric_value& metric : metrics) {
    json fields = json::object();
    for (const metric_value::field& field : metric.fields) {
      fields[field.name] = field_json(field, fmt::format("metrics.{}.{}", metric.name, field.name), number);
    }
    object[metric.name] = std::move(fields);
  }
  return object;
}

json in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

json delivery_json(const delivery_report& delivery) {
  return {{"expected", delivery.expected}, {"folded", delivery.folded},
          {"replayed", delivery.replayed}, {"duplicates_dropped", delivery.duplicates_dropped},
          {"lost", delivery.lost},         {"resumed", delivery.resumed}};
}

json stages_json(const std::vector<stage_report>& stages, number_writer& number) {
  json list = json::array();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const stage_report& stage = stages[i];
    list.push_back({{"name", stage.name},
                    {"replica", stage.replica},
                    {"layers", stage.layers},
                    {"forward_seconds", in_seconds(stage.forward_time)},
                    {"busy_fraction", number(stage.busy_fraction, fmt::format("stages[{}].busy_fraction", i))},
                    {"micro_batches", stage.micro_batches}});
  }
  return list;
}

json faults_json(const std::vector<fault_report>& faults) {
  json list = json::array();
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const fault_report& one = faults[i];
    list.push_back({{"fault", one.fault},
                    {"times", one.times},
                    {"seconds", one.after ? in_seconds(*one.after) : json(nullptr)},
                    {"micro_batch", one.micro_batch ? json(*one.micro_batch) : json(nullptr)},
                    {"recovery_seconds", one.recovery_time ? in_seconds(*one.recovery_time) : json(nullptr)},
                    {"replayed", one.replayed},
                    {"duplicates_dropped", one.duplicates_dropped},
                    {"note", one.note ? json(*one.note) : json(nullptr)}});
  }
  return list;
}

json errors_json(const std::vector<error>& errors) {
  json list = json::array();
  for (const error& each : errors) {
    list.push_back({{"code", code_name(each.code)}, {"where", each.where}, {"cause", each.cause}, {"fix", each.fix}});
  }
  return list;
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
