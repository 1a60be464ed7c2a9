#include <nlohmann/json.hpp>

#include "program/plan_report.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json stages_json(const std::vector<stage_plan>& stages) {
  json list = json::array();
  for (const stage_plan& each : stages) {
    list.push_back({{"layers", each.layers},
                    {"parameters", each.parameters},
                    {"forward_seconds", or_null(each.seconds)},
                    {"weight_bytes", each.weight_bytes},
                    {"activation_bytes", or_null(each.activation_bytes)}});
  }
  return list;
}

}  // namespace

std::string plan_json(const plan_report& plan) {
  json object = {{"model", plan.model},
                 {"data", plan.data.empty() ? json() : json(plan.data)},
                 {"partition", plan.partition},
                 {"cut_by", plan.cut_by},
                 {"boundaries", plan.boundaries},
                 {"stages", stages_json(plan.stages)},
                 {"replicas", plan.replicas},
                 {"threads", plan.threads},
                 {"micro_batch", plan.micro_batch}};
  object["micro_batches"] = or_null(plan.micro_batches);
  object["balance"] = or_null(plan.balance);
  object["bubble"] = or_null(plan.bubble);
  object["memory_bytes"] = or_null(plan.memory_bytes);
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace troupe
