#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chaos_round.hpp"

namespace troupe::cli {

/// What `troupe chaos` says of one plan.
struct chaos_verdict {
  fault_plan plan;
  /// That the plan was drawn from.
  std::optional<std::uint64_t> seed;
  chaos_run undisturbed;
  chaos_run disturbed;
  /// Why the run does not count as survived.
  std::optional<std::string> objection;
  /// The command that does the same again.
  std::string repeat;
};

[[nodiscard]] std::string verdict_text(const chaos_verdict& verdict);
/// One object: that of the disturbed run's result.json, with `bit_identical`, `seed`, `objection`, `because`, `repeat`
/// and `undisturbed.{metrics,wall_seconds}`. `faults` has the whole plan, also where that run has no result.
[[nodiscard]] std::string verdict_json(const chaos_verdict& verdict);

}  // namespace troupe::cli
