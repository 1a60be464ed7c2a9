#include "program/start/run_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "actors/workers/resource_needs.hpp"
#include "messages/try.hpp"
#include "program/launch/launched_nodes.hpp"
#include "program/launch/process_context.hpp"
#include "program/start/fault_checks.hpp"
#include "program/topology/eval_topology.hpp"
#include "program/topology/stage_devices.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/config/resolve.hpp"
#include "runtime/config/value.hpp"
#include "runtime/transport/transport_table.hpp"

namespace troupe {
namespace {

/// As in a file or a flag: the ranges are those of the table of options.
expected<void> check_ranges(const eval_options& config) {
  for (const option& each : all_options()) {
    const option_value value = each.get(config);
    if (!std::holds_alternative<std::int64_t>(value) && !std::holds_alternative<double>(value)) continue;
    if (const auto problem = check_range(each, value)) {
      return fail(problem->code, std::string(each.name), problem->cause, "choose another value");
    }
  }
  return {};
}

expected<void> check_processes(const eval_options& config, const process_context& process) {
  if (config.run.workers.enabled && !process.has_program) {
    return fail(error_code::flags_contradict, "processes", "workers of this program would not know what they are",
                "make a troupe::program at the start of main()");
  }
  if (const auto found = find_contradiction(config.run)) {
    return fail(error_code::flags_contradict, found->option, found->cause, found->fix);
  }
  return {};
}

/// The greatest number that a stage asks for.
std::uint32_t most_threads(const topology& what) {
  std::uint32_t most = 1;
  for (const auto& [name, content] : what.parts().contents) {
    if (const auto* stage = std::get_if<stage_node>(&content)) {
      most = std::max(most, stage->options.threads.value_or(1));
    }
  }
  for (const auto& [name, pipeline] : what.parts().pipelines)
    most = std::max(most, pipeline.options.threads.value_or(1));
  return most;
}

/// Before anything is read or started.
expected<void> check_placement(const checked_run& run) {
  const auto& places = run.parts().places;
  const auto* const launch = run.process->launch;
  if (launch == nullptr && !places.empty()) {
    return fail(error_code::topology_invalid, "placement of stage '" + places.begin()->first + "'",
                "there are no nodes: nothing has launched this program",
                "start it with troupe launch, or leave the placement out");
  }
  if (launch == nullptr) return {};
  worker_setup all;
  all.is_remote = [&](stage_address at) { return run.roles[at.stage].has_worker; };
  all.wanted_node = run.wanted_nodes();
  TROUPE_TRY(launch->place(run.plan, all));
  return {};
}

}  // namespace

void adapt_to_launch(run_options& options, eval_options& config, const process_context& process) {
  if (process.launch == nullptr) return;
  options.workers.enabled = true;
  config.run.workers.enabled = true;
}

expected<checked_run> check_run(const topology& what, const run_options& options, const process_context& process,
                                std::string name) {
  const eval_options config = config_of(what, options);
  TROUPE_TRY(check_ranges(config));
  TROUPE_TRY(check_processes(config, process));
  auto run = TROUPE_TRY(checked_run::make(what, options, process, std::move(name)));
  TROUPE_TRY(check_placement(run));
  TROUPE_TRY(check_faults(run));
  return run;
}

expected<void> check_resources(const checked_run& run) {
  const std::string row = edge_row_name(run);
  needs_options asked{.threads = std::max(run.options.threads.value_or(1), most_threads(run.what)),
                      .data_workers = run.options.data_workers > 1 ? run.options.data_workers : 0,
                      .is_remote = nullptr,
                      .edges = run.process->launch != nullptr ? &between_nodes(row) : &between_processes(row)};
  if (run.has_workers()) asked.is_remote = [&](stage_address at) { return run.roles[at.stage].has_worker; };
  return ensure_resources(needs_of_run(run.plan, asked));
}

}  // namespace troupe
