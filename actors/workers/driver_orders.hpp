#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "messages/lifecycle.hpp"
#include "messages/training.hpp"
#include "messages/worker.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include <troupe/error.hpp>

namespace troupe {

class transport;

/// Compares the messages of a driver with what the worker knows of the run, as worker_claims does for the opposite
/// direction. A number that cannot be true is E0702, and the worker ends with this error: if an actor or engine were
/// given the number, it would stop the process as by a bug (TROUPE_CHECK). Threads: one.
class driver_orders {
 public:
  /// `plan` and `edges` outlive this object. The assignment may add channels to the plan.
  driver_orders(const wiring_plan& plan, const transport& edges) : plan_(plan), edges_(edges) {}

  [[nodiscard]] expected<void> check(const worker_assignment& said) const;
  [[nodiscard]] expected<void> check(const wiring_order& said) const;
  [[nodiscard]] expected<void> check(const run_begun& said) const;
  /// Counts the open calls: at most limits::calls_queued_max may be open at a time.
  [[nodiscard]] expected<void> check(const open_call& said);
  [[nodiscard]] expected<void> check(const release_call& said);
  [[nodiscard]] expected<void> check(const cancel_call& said);
  [[nodiscard]] expected<void> check(const step_decision& said) const;
  [[nodiscard]] expected<void> check(const stop_request&) const { return {}; }

 private:
  [[nodiscard]] expected<void> check_trains(const char* field) const;
  [[nodiscard]] expected<void> check_offers(const std::vector<offered_edge>& offers) const;

  const wiring_plan& plan_;
  const transport& edges_;
  std::set<call_number> open_;
};

}  // namespace troupe
