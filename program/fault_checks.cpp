#include "program/fault_checks.hpp"

#include "program/launched_nodes.hpp"
#include "program/topology_parts.hpp"
#include "runtime/inject/plan_shape.hpp"

namespace troupe {
fault_shape fault_shape_of(const topology& what, const run_options& options, const wiring_plan& plan) {
  fault_shape made = shape_of(plan, [&](stage_address at) {
    return options.workers.enabled || what.parts().wants_process(plan.nodes[at.stage].name);
  });
  made.has_journal = !options.journal.file.empty();
  if (const auto* launched = launched_nodes::get()) made.places = launched->places();
  return made;
}

expected<void> check_faults(const topology& what, const run_options& options, std::uint64_t micro_batches) {
  if (options.faults.empty()) return {};
  const auto plan = expand(what.parts().graph());
  if (!plan) return tl::make_unexpected(plan.error());
  fault_shape shape = fault_shape_of(what, options, *plan);
  shape.micro_batches = micro_batches;
  return check_fits(options.faults, shape);
}

}  // namespace troupe
