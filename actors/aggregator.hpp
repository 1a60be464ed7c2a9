#pragma once

#include <memory>

#include "actors/protocol.hpp"
#include "runtime/ledger/fold_ledger.hpp"
#include "runtime/telemetry/stage_accounts.hpp"

namespace troupe {

/// The actor that folds scores into the ledger. It sends the low-water mark to the loader and the ended calls to the
/// director. The ledger is owned outside, so that the death of the actor loses nothing.
struct aggregator_state {
  static inline const char* name = "aggregator";

  explicit aggregator_state(aggregator_actor::pointer self_ptr) : self(self_ptr) {}
  aggregator_actor::behavior_type behavior();

  aggregator_actor::pointer self;
  std::shared_ptr<fold_ledger> ledger;
  std::shared_ptr<stage_accounts> accounts;
  director_actor director;
  monitor_actor monitor;
  loader_actor loader;

 private:
  void after_change(call_number touched);
  void tell_low_water();
  void report_progress(call_number call);

  micro_batch_id told_low_water_;
  caf::actor_clock::time_point last_report_;
};

aggregator_actor::behavior_type aggregator(aggregator_actor::stateful_pointer<aggregator_state> self,
                                           std::shared_ptr<fold_ledger> ledger,
                                           std::shared_ptr<stage_accounts> accounts, director_actor director,
                                           monitor_actor monitor);

}  // namespace troupe
