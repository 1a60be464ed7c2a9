#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "../rounds.hpp"

namespace troupe::bench {

/// Which variant is compared with which reference, and as which ratio.
struct comparison {
  enum class ratio : std::uint8_t {
    share_of_half,       ///< half the reference's time over its own, with the fill of a pipe of two stages
    without_fill,        ///< the same for what has not to be filled
    share_of_reference,  ///< the reference's time over its own, with the fill (efficiency_with_fill)
    cost,                ///< its own time over the reference's
  };
  std::string group;
  std::string name;
  std::string of;
  std::string reference;
  ratio as = ratio::cost;
  /// Whether the machine gave two cores is asked of both stages side by side, too: a reference of one thread cannot
  /// tell.
  bool needs_two_cores = false;
};

/// "efficiency", "layout", "cost"
const std::vector<std::string>& comparison_groups();

/// Microseconds per micro-batch, one right after the other: the reference, both stages side by side (where two cores
/// are needed, else 0), the compared variant, and the first two the other way round.
struct paired_times {
  double reference_before = 0;
  double side_by_side_before = 0;
  double of = 0;
  double side_by_side_after = 0;
  double reference_after = 0;

  [[nodiscard]] double reference() const { return (reference_before + reference_after) / 2; }
};

struct measured_comparison {
  comparison what;
  std::vector<paired_times> pairs;
};

struct measured_processes {
  std::string model;
  std::uint64_t micro_batch = 1;
  std::uint64_t micro_batches = 0;
  double slowest_stage_us = 0;
  /// The other stage alone, as a share of the slowest.
  double other_stage_share = 1;
  std::vector<measured_comparison> comparisons;
  /// Variants whose metrics differ from the plain loop's in any bit.
  std::set<std::string> different;
};

/// The comparisons to measure: those of these groups, and of these names where there are any.
struct comparison_choice {
  std::vector<std::string> groups;
  std::vector<std::string> names = {};
};

/// All comparisons that are chosen, round after round, in an order that is drawn anew for each round, the same in each
/// run; the first round is discarded. Pipelines that no comparison of a group needs do not run meanwhile, but for the
/// one of two stages in one process.
expected<measured_processes> measure_pairs(const workload& work, const round_options& options,
                                           const comparison_choice& chosen);

/// As `what.as` says.
double ratio_of(const measured_processes& row, const comparison& what, const paired_times& times);

/// The machine was the same before and after: the measurements of the reference differ by at most 3 %, as do those side
/// by side, and these took at most 5 % longer than stages with a core each would. It says nothing of what was measured
/// in between.
bool is_steady(const comparison& what, const paired_times& times);

}  // namespace troupe::bench
