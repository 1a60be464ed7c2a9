#include "program/topology/checked_run.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "program/models/file_stamp.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

device_layout layout_of(const run_options& options, bool spans_nodes) {
  device_layout made{.are_apart = options.workers.enabled || spans_nodes};
  if (options.workers.transport == transport_kind::nccl) made.reach = device_reach::everywhere;
  if (options.workers.transport == transport_kind::automatic && !spans_nodes) made.reach = device_reach::host;
  return made;
}

template <class Content>
const Content* content_at(const checked_run& run, stage_index node) {
  const auto& contents = run.parts().contents;
  const auto found = contents.find(run.plan.nodes[node].name);
  return found == contents.end() ? nullptr : std::get_if<Content>(&found->second);  // a source has none
}

node_role role_of(const checked_run& run, stage_index node) {
  node_role made{.has_worker = run.parts().has_workers(run.options, run.plan.nodes[node].name)};
  if (const auto* stage = run.stage_at(node)) {
    made.device = stage->options.device;
    made.records_graphs = stage->options.cuda_graphs;
  } else if (const auto* part = run.part_at(node)) {
    const cut_options& options = run.parts().pipelines.at(part->pipeline).options;
    made.device = options.device;
    made.records_graphs = options.cuda_graphs;
  }
  return made;
}

std::string stamps_of(const model_source& model, bool by_content) {
  std::string text;
  for (const std::string& file : model.files()) {
    text += (text.empty() ? "" : ", ") + (by_content ? stamp_by_content(file) : stamp_by_time(file));
  }
  return text.empty() ? "in memory" : text;
}

/// What processes must agree on beside the plan.
std::string settings_of(const checked_run& run) {
  std::string text;
  for (const auto& [name, asked] : run.parts().pipelines) {
    text += fmt::format("{}: {}, {} stages, {} {} {} {}\n", name, stamps_of(asked.model, run.process->spans_nodes),
                        asked.options.stages, static_cast<int>(asked.options.optimize), asked.options.partition,
                        asked.options.dtype ? c10::toString(*asked.options.dtype) : "as it is", asked.options.device);
  }
  for (const auto& [name, content] : run.parts().contents) {
    if (const auto* stage = std::get_if<stage_node>(&content)) text += name + " on " + stage->options.device + "\n";
  }
  for (const scored_sink& each : run.parts().sinks) {
    text += fmt::format("{}: of {} {}", each.name, each.options.tensor, each.options.label);
    for (const metric_choice& metric : each.metrics) text += ", " + name_of(metric);
    text += "\n";
  }
  return text;
}

}  // namespace

expected<checked_run> checked_run::make(topology what, run_options options, const process_context& process,
                                        std::string name) {
  TROUPE_TRY(what.check());
  auto plan = TROUPE_TRY(expand(what.parts().graph()));
  const bool trains = std::ranges::any_of(what.parts().pipelines,
                                          [](const auto& each) { return each.second.options.training != nullptr; });
  if (trains) {
    TROUPE_TRY(make_trainable(plan));
  }
  const device_layout layout = layout_of(options, process.spans_nodes);
  checked_run made{.what = std::move(what),
                   .options = std::move(options),
                   .name = std::move(name),
                   .process = &process,
                   .plan = std::move(plan),
                   .layout = layout,
                   .roles = {}};
  for (stage_index node = 0; node < made.plan.nodes.size(); ++node) made.roles.push_back(role_of(made, node));
  return made;
}

const cut_node* checked_run::part_at(stage_index node) const {
  return content_at<cut_node>(*this, node);
}

const stage_node* checked_run::stage_at(stage_index node) const {
  return content_at<stage_node>(*this, node);
}

bool checked_run::has_workers(const std::string& pipeline) const {
  return parts().has_workers(options, part_name(pipeline, 0));
}

std::function<std::string(stage_address)> checked_run::wanted_nodes() const {
  std::map<stage_address, std::string> wanted;
  for (const wired_instance& each : plan.instances)
    wanted[each.address] = parts().place_of(plan.nodes[each.address.stage].name, each.address.replica);
  return [wanted = std::move(wanted)](stage_address at) { return wanted.at(at); };
}

std::vector<std::pair<std::string, std::string>> checked_run::environment() const {
  std::vector<std::pair<std::string, std::string>> made;
  for (const auto& [pipeline, asked] : parts().pipelines) {
    if (!asked.model.state_file().empty()) made.emplace_back(state_variable, asked.model.state_file());
  }
  return made;
}

std::uint64_t checked_run::fingerprint() const {
  return plan_fingerprint(plan, settings_of(*this));
}

}  // namespace troupe
