#include "program/plan/crossing_json.hpp"
#include "program/plan/plan_report.hpp"

namespace troupe {
namespace {

using nlohmann::ordered_json;

ordered_json stages_json(const std::vector<planned_stage>& stages) {
  ordered_json list = ordered_json::array();
  for (const planned_stage& each : stages) {
    list.push_back({{"layers", each.layers},
                    {"parameters", each.parameters},
                    {"forward_seconds", or_null(each.seconds)},
                    {"crossing_seconds", or_null(each.crossing_seconds)},
                    {"weight_bytes", each.weight_bytes},
                    {"activation_bytes", or_null(each.activation_bytes)}});
  }
  return list;
}

ordered_json cuts_json(const std::vector<planned_cut>& cuts) {
  ordered_json list = ordered_json::array();
  for (const planned_cut& each : cuts) {
    ordered_json cut = crossing_json(each.values);
    cut.erase("joined_because");
    for (ordered_json& value : cut["values"]) value.erase("shape");
    cut["layer"] = each.layer;
    list.push_back(std::move(cut));
  }
  return list;
}

ordered_json methods_json(const std::vector<method_cost>& methods) {
  ordered_json list = ordered_json::array();
  for (const method_cost& each : methods) {
    list.push_back({{"partition", each.method},
                    {"boundaries", each.boundaries},
                    {"slowest_seconds", each.slowest_seconds},
                    {"bytes", each.bytes}});
  }
  return list;
}

ordered_json nodes_json(const std::vector<planned_node>& nodes) {
  ordered_json list = ordered_json::array();
  for (const planned_node& node : nodes) {
    ordered_json ranks = ordered_json::array();
    for (const planned_rank& each : node.ranks) {
      ranks.push_back({{"slot", each.slot}, {"rank", each.rank}, {"stage", each.stage}, {"replica", each.replica}});
    }
    list.push_back({{"name", node.name}, {"slots", node.slots}, {"ranks", std::move(ranks)}});
  }
  return list;
}

}  // namespace

std::string plan_json(const plan_report& plan) {
  ordered_json object = {{"model", plan.model},
                         {"data", plan.data.empty() ? ordered_json() : ordered_json(plan.data)},
                         {"partition", plan.partition},
                         {"cut_by", plan.cut_by},
                         {"bits_depend_on", plan.bits_depend_on},
                         {"boundaries", plan.boundaries},
                         {"runs_plain", plan.runs_plain},
                         {"stages", stages_json(plan.stages)},
                         {"cuts", cuts_json(plan.cuts)},
                         {"methods", methods_json(plan.methods)},
                         {"replicas", plan.replicas},
                         {"threads", plan.threads},
                         {"micro_batch", plan.micro_batch}};
  object["micro_batches"] = or_null(plan.micro_batches);
  object["balance"] = or_null(plan.balance);
  object["bubble"] = or_null(plan.bubble);
  object["memory_bytes"] = or_null(plan.memory_bytes);
  if (!plan.nodes.empty()) {
    object["nodes"] = nodes_json(plan.nodes);
    object["crossing_bytes"] = or_null(plan.crossing_bytes);
  }
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace troupe
