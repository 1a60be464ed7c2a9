#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/edge/edge.hpp"
#include "runtime/flow/compute_engine.hpp"
#include "runtime/flow/engine_body.hpp"
#include "runtime/flow/loader_engine.hpp"
#include "runtime/ledger/fold_ledger.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/telemetry/stage_accounts.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include "runtime/wiring/edge_depths.hpp"
#include <troupe/error.hpp>

namespace troupe {

class step_ledger;

/// All engines of a run, neither wired nor stepped. The director wires them (make_wiring).
struct assembly {
  wiring_plan plan;
  /// Makes the edges of every epoch within this process. It lives as long as the edges.
  std::shared_ptr<edge_factory> edges;
  std::shared_ptr<loader_engine> loader;
  /// The engines of the stage instances that live in this process, in the order of plan.instances.
  std::vector<std::shared_ptr<compute_engine>> stages;
  /// The accounts of all stage instances, in whichever process they live.
  std::shared_ptr<stage_accounts> accounts;
  /// Where the run trains; added by the caller of assemble().
  std::shared_ptr<step_ledger> steps = nullptr;
  std::uint64_t window = 1;
  std::uint64_t window_min = 1;
  edge_depths depths;

  [[nodiscard]] troupe::ledger_options ledger_options() const {
    return {.sinks = static_cast<std::uint32_t>(plan.sinks.size()), .window = window + 1};
  }
};

/// The trace of a run that has stopped, in ascending order. Empty if no trace was recorded. E0613 if it was too long.
expected<std::vector<trace_event>> trace_of(const assembly& engines);

/// Makes the body of an instance; called once per stage instance.
using body_factory = std::function<expected<engine_body>(stage_address address)>;

struct assembly_options {
  edge_depths depths = {};
  /// Numbers the traces of the run's stages; null: none is recorded. It outlives the engines.
  trace_clock* trace = nullptr;
  clock_function now = steady_now;
  /// Most micro-batches of a training step, all of which the loader may have to send again.
  std::uint64_t step_micro_batches = 0;
  /// Says which stages live in other processes; no engine is made for them. Empty: none of them.
  std::function<bool(stage_address address)> is_elsewhere = {};
  /// Gives the shared pages of the engines that are made here, also the loader's. Empty: each engine makes its own
  /// page.
  std::function<std::shared_ptr<engine_page>(stage_address address)> page_of = {};
};

/// Makes the engines of a plan. Errors are those of the body factory.
expected<assembly> assemble(wiring_plan plan, std::shared_ptr<edge_factory> edges, const body_factory& make_body,
                            const assembly_options& options);

/// The engine of one stage of a plan; `instance` is its position in plan.instances and not a source. `shared_page` is
/// fresh, in memory that other processes have mapped; null: the engine makes a page of its own.
std::shared_ptr<compute_engine> make_stage_engine(const wiring_plan& plan, std::size_t instance,
                                                  const assembly_options& options, engine_body body,
                                                  std::shared_ptr<engine_page> shared_page = nullptr);

}  // namespace troupe
