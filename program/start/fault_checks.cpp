#include "program/start/fault_checks.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "program/launch/launched_nodes.hpp"
#include "program/start/prepared_run.hpp"
#include "program/topology/eval_topology.hpp"
#include "program/topology/topology_parts.hpp"
#include "runtime/inject/plan_shape.hpp"

namespace troupe {
fault_shape fault_shape_of(const topology& what, const run_options& options, const wiring_plan& plan) {
  fault_shape made =
      shape_of(plan, [&](stage_address at) { return what.parts().has_workers(options, plan.nodes[at.stage].name); });
  made.has_journal = !options.journal.file.empty();
  if (const auto* launched = launched_nodes::get()) made.places = launched->places();
  return made;
}

namespace {

/// 0: not known. Who starts the run tells of data that cannot be opened.
std::uint64_t micro_batches_of(const topology& what, const run_options& options) {
  const auto data = open_choice(*what.parts().data);
  if (!data) return 0;
  const auto call = make_call(what, options, *data);
  return call ? (*call)->micro_batches_asked() : 0;
}

bool counts_micro_batches(const fault_plan& plan) {
  return std::ranges::any_of(plan.faults(),
                             [](const fault& one) { return one.when.kind == fault_trigger_kind::micro_batch; });
}

}  // namespace

expected<void> check_faults(const topology& what, const run_options& options, std::uint64_t micro_batches) {
  if (options.faults.empty()) return {};
  const auto plan = TROUPE_TRY(expand(what.parts().graph()));
  fault_shape shape = fault_shape_of(what, options, plan);
  shape.micro_batches = micro_batches;
  return check_fits(options.faults, shape);
}

expected<void> check_faults(const eval_options& options, std::vector<fault_shape::place> places) {
  const topology what = topology_of(options);
  const auto plan = TROUPE_TRY(expand(what.parts().graph()));
  fault_shape shape = fault_shape_of(what, options.run, plan);
  if (counts_micro_batches(options.run.faults)) shape.micro_batches = micro_batches_of(what, options.run);
  shape.places = std::move(places);
  return check_fits(options.run.faults, shape);
}

}  // namespace troupe
