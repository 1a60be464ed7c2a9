#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/inject/connection_faults.hpp"
#include "runtime/inject/faulty_body.hpp"
#include "runtime/inject/run_start.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include "runtime/topology/wiring_plan.hpp"

namespace troupe {

class transport;

/// The faults of a plan that this process injects, in a driver and in a worker alike: into the bodies of stages, and
/// into the edges whose consumers are here. Threads: any.
class armed_faults {
 public:
  /// Asked before a fault is injected, and notes that it is. `once`: at most once in a run. `first`: not yet by this
  /// process. `at`: the micro-batch of a forward. False: it was injected elsewhere, and must not be again.
  using may_inject = std::function<bool(std::size_t number, bool once, bool first, std::optional<micro_batch_id> at)>;

  armed_faults() = default;
  armed_faults(std::vector<numbered_fault> faults, const std::shared_ptr<const run_start>& start, may_inject may);

  /// Whether one names this kind of target.
  [[nodiscard]] bool has(fault_target_kind who) const;
  /// One trigger per fault, of edges or of control messages.
  [[nodiscard]] message_triggers triggers(fault_target_kind who) const;
  /// With the faults of the forward that are the stage's; the body itself where there are none. `lot`: see faulty_body.
  [[nodiscard]] engine_body around(engine_body body, std::uint64_t lot,
                                   const std::function<bool(const fault&)>& is_of_stage) const;
  /// With the faults of the edges, even if there are none.
  [[nodiscard]] std::shared_ptr<transport> around(std::shared_ptr<transport> edges, const wiring_plan& plan) const;

 private:
  std::vector<numbered_fault> faults_;
  message_triggers triggers_;
  may_inject may_;
};

/// may_inject by a mark on the page of the stage, which the driver reads, also after this process's death.
[[nodiscard]] bool mark_injected(engine_page& page, std::size_t number, bool once, bool first,
                                 std::optional<micro_batch_id> at = std::nullopt);

}  // namespace troupe
