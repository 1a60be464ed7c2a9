#include "program/start/run_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "actors/workers/room_of.hpp"
#include "program/launch/launched_nodes.hpp"
#include "program/start/fault_checks.hpp"
#include "program/topology/eval_topology.hpp"
#include "program/topology/stage_devices.hpp"
#include "program/topology/topology_parts.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/config/resolve.hpp"
#include "runtime/config/value.hpp"
#include "runtime/transport/transport_table.hpp"
#include <troupe/program.hpp>

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

expected<void> check_processes(const eval_options& config) {
  if (config.run.workers.enabled && !program::exists()) {
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
expected<void> check_placement(const topology& what) {
  const auto& places = what.parts().places;
  const auto* const launched = launched_nodes::get();
  if (launched == nullptr && !places.empty()) {
    return fail(error_code::topology_invalid, "placement of stage '" + places.begin()->first + "'",
                "there are no nodes: nothing has launched this program",
                "start it with troupe launch, or leave the placement out");
  }
  if (launched == nullptr) return {};
  return expand(what.parts().graph()).and_then([&](const wiring_plan& plan) -> expected<void> {
    worker_setup all;
    all.is_remote = [](stage_address) { return true; };
    all.wanted_node = wanted_nodes(what, plan);
    const auto placed = launched->place(plan, all);
    return placed ? expected<void>() : tl::make_unexpected(placed.error());
  });
}

}  // namespace

void adapt_to_launch(run_options& options, eval_options& config) {
  if (launched_nodes::get() == nullptr) return;
  options.workers.enabled = true;
  config.run.workers.enabled = true;
}

expected<void> check_run(const topology& what, const run_options& options) {
  const eval_options config = config_of(what, options);
  return check_ranges(config)
      .and_then([&] { return check_processes(config); })
      .and_then([&] { return what.check(); })
      .and_then([&] { return check_placement(what); })
      .and_then([&] { return check_faults(what, options); });
}

expected<void> check_room(const topology& what, const run_options& options, std::uint32_t threads) {
  const auto plan = expand(what.parts().graph());
  if (!plan) return {};
  room_options asked{.threads = std::max(threads, most_threads(what)),
                     .is_remote = nullptr,
                     .edges = launched_nodes::get() != nullptr
                                  ? &between_nodes(edge_row_name(what, *plan, options))
                                  : &between_processes(edge_row_name(what, *plan, options))};
  if (what.parts().has_workers(options)) {
    asked.is_remote = [&](stage_address at) { return what.parts().has_workers(options, plan->nodes[at.stage].name); };
  }
  return ensure_room(room_of_run(*plan, asked));
}

}  // namespace troupe
