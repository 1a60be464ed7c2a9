#include "program/start/fault_checks.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "program/launch/launched_nodes.hpp"
#include "program/launch/process_context.hpp"
#include "program/start/prepared_run.hpp"
#include "program/topology/eval_topology.hpp"
#include "runtime/inject/plan_shape.hpp"

namespace troupe {

fault_shape fault_shape_of(const checked_run& run) {
  fault_shape made = shape_of(run.plan, [&](stage_address at) { return run.roles[at.stage].has_worker; });
  made.has_journal = !run.options.journal.file.empty();
  made.trains = run.plan.trains;
  if (made.trains) made.micro_batches = run.parts().pipelines.begin()->second.options.training->num_micro_batches;
  if (const auto* launch = run.process->launch) made.places = launch->places();
  return made;
}

namespace {

/// 0: not known. Who starts the run tells of data that cannot be opened.
std::uint64_t micro_batches_of(const checked_run& run) {
  const auto data = open_choice(*run.parts().data);
  if (!data) return 0;
  const auto call = make_call(run, *data);
  return call ? (*call)->micro_batches_asked() : 0;
}

bool counts_micro_batches(const fault_plan& plan) {
  return std::ranges::any_of(plan.faults(),
                             [](const fault& one) { return one.when.kind == fault_trigger_kind::micro_batch; });
}

}  // namespace

expected<void> check_faults(const checked_run& run, std::uint64_t micro_batches) {
  if (run.options.faults.empty()) return {};
  fault_shape shape = fault_shape_of(run);
  if (!shape.trains) shape.micro_batches = micro_batches;
  return check_fits(run.options.faults, shape);
}

expected<void> check_faults(const eval_options& options, std::vector<fault_shape::place> places) {
  const process_context driver;  // of a launch that does not exist yet
  const auto run = TROUPE_TRY(checked_run::make(topology_of(options), options.run, driver));
  fault_shape shape = fault_shape_of(run);
  if (counts_micro_batches(options.run.faults)) shape.micro_batches = micro_batches_of(run);
  shape.places = std::move(places);
  return check_fits(options.run.faults, shape);
}

}  // namespace troupe
