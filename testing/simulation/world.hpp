#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "testing/simulation/history.hpp"
#include "testing/simulation/plan.hpp"
#include <troupe/trace_event.hpp>

namespace troupe::simulation {

/// A run that has been simulated.
struct run_report {
  std::uint64_t seed = 0;
  /// Of the whole history: equal for the same plan and the same build.
  std::uint64_t trace_hash = 0;
  std::uint64_t steps = 0;
  /// Virtual.
  double seconds = 0;
  /// What the judge says; empty if all is well.
  std::string wrong;
  /// "same bits", "partial", or the codes of the errors that calls ended with: "E0616".
  std::string ended;
};

/// Runs plans one after another. Threads: one for each simulator.
class simulator {
 public:
  simulator();
  ~simulator();
  simulator(const simulator&) = delete;
  simulator& operator=(const simulator&) = delete;

  [[nodiscard]] run_report run(const plan& what);
  /// Of the last run.
  [[nodiscard]] const history& seen() const noexcept;
  /// Of the last run, in no order; empty if its plan has faults.
  [[nodiscard]] std::span<const trace_event> trace() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Of the faults of a plan that fails, by position, a least set with which it fails: without any one of them it does
/// not (delta debugging).
[[nodiscard]] std::vector<std::size_t> shrink(simulator& with, const plan& failing);
[[nodiscard]] plan with_faults(const plan& what, const std::vector<std::size_t>& positions);

}  // namespace troupe::simulation
