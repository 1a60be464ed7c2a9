#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "messages/lifecycle.hpp"
#include "messages/worker.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include <troupe/error.hpp>

namespace troupe {

class transport;

/// Holds what a driver says against what a worker knows of the run, as worker_claims does on the other side: numbers
/// that no run has are E0702. The worker ends with that error, as an actor or engine that is given such a number stops
/// the process (TROUPE_CHECK). Threads: one.
class driver_orders {
 public:
  /// Both outlive it.
  driver_orders(const wiring_plan& plan, const transport& edges) : plan_(plan), edges_(edges) {}

  [[nodiscard]] expected<void> check(const worker_assignment& said) const;
  [[nodiscard]] expected<void> check(const wiring_order& said) const;
  [[nodiscard]] expected<void> check(const run_begun& said) const;
  /// At most limits::calls_queued_max are open at a time.
  [[nodiscard]] expected<void> check(const open_call& said);
  [[nodiscard]] expected<void> check(const release_call& said);
  [[nodiscard]] expected<void> check(const cancel_call& said);
  [[nodiscard]] expected<void> check(const stop_request&) const { return {}; }

 private:
  [[nodiscard]] expected<void> check_offers(const std::vector<offered_edge>& offers) const;

  const wiring_plan& plan_;
  const transport& edges_;
  std::set<call_number> open_;
};

}  // namespace troupe
