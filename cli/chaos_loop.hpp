#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "chaos_nodes.hpp"
#include "chaos_round.hpp"
#include "command.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe::cli {

/// What `troupe chaos` was asked for.
struct chaos_request {
  chaos_work work;
  /// The words behind `troupe chaos` that ask for the same, without faults.
  arguments flags;
  /// Empty: plans are drawn.
  fault_plan faults;
  bool json = false;
  bool in_workers = false;
  bool trains = false;
  /// Null on one host.
  const chaos_nodes* nodes = nullptr;
  std::uint64_t seed = 0;
  std::optional<std::chrono::milliseconds> time;
};

/// The flags that say how plans are drawn, as they were given.
struct chaos_flags {
  std::string seed;
  std::string minutes;
};

/// Reads them; `seed_name` is the flag of the seed, without hyphens. E0103; E0104 where a plan is given as well.
[[nodiscard]] expected<void> read_numbers(const chaos_flags& given, const std::string& seed_name, chaos_request& into);

/// The run without faults, and then with the plan that is given, or with one plan after another. The status of the last
/// run that was not survived, or success.
[[nodiscard]] expected<exit_status> compare_runs(const chaos_request& asked);

}  // namespace troupe::cli
