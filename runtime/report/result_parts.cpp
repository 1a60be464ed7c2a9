#include "runtime/report/result_parts.hpp"

#include <fmt/format.h>

#include "runtime/json/json_number.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

json field_json(const metric_value::field& field, const std::string& name, number_writer& number) {
  json items = json::array();
  for (const std::uint64_t count : field.counts) items.push_back(count);
  for (std::size_t i = 0; i < field.reals.size(); ++i) {
    items.push_back(number(field.reals[i], field.is_list ? fmt::format("{}[{}]", name, i) : name));
  }
  if (field.is_list) return items;
  return items.empty() ? json() : items.front();
}

}  // namespace

nlohmann::ordered_json number_writer::operator()(double value, const std::string& name) {
  if (const char* word = word_for_number(value)) {
    warnings_.push_back(fmt::format("{} is {}; JSON has no such number, it is written as a string", name, word));
  }
  return json_number(value);
}

nlohmann::ordered_json metrics_json(const std::vector<metric_value>& metrics, number_writer& number,
                                    const std::string& place) {
  json object = json::object();
  for (const metric_value& metric : metrics) {
    json fields = json::object();
    for (const metric_value::field& field : metric.fields) {
      fields[field.name] = field_json(field, fmt::format("{}.{}.{}", place, metric.name, field.name), number);
    }
    object[metric.name] = std::move(fields);
  }
  return object;
}

nlohmann::ordered_json in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

nlohmann::ordered_json stages_json(const std::vector<stage_report>& stages, number_writer& number) {
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

nlohmann::ordered_json faults_json(const std::vector<fault_report>& faults) {
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

nlohmann::ordered_json errors_json(const std::vector<error>& errors) {
  json list = json::array();
  for (const error& each : errors) {
    list.push_back({{"code", code_name(each.code)}, {"where", each.where}, {"cause", each.cause}, {"fix", each.fix}});
  }
  return list;
}

}  // namespace troupe
