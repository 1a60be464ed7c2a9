#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "rounds.hpp"
#include "spread.hpp"

namespace troupe::bench {

/// A figure of the specification: reached if the median is at least, or at most, the limit.
struct target {
  std::string name;
  double value = 0;
  double limit = 0;
  bool at_least = true;

  [[nodiscard]] bool reached() const { return at_least ? value >= limit : value <= limit; }
};

/// One line of the result; ratios are of times of the same round. docs/benchmarks.md defines each.
struct bench_row {
  std::string model;
  std::uint64_t micro_batch = 1;
  std::uint64_t micro_batches = 0;
  std::vector<std::string> metrics;
  std::vector<std::size_t> boundaries;
  std::vector<std::string> different;

  spread plain_us;
  spread slowest_alone_us;
  spread slowest_together_us;
  spread efficiency;
  spread efficiency_with_fill;
  spread balance;
  std::optional<spread> share_of_half;
  std::optional<spread> share_of_half_with_fill;
  spread one_stage_cost;
  spread best_over_plain;
  std::string best_of_ours;
  std::string best_of_plain;
  spread whole_over_layers;
  /// By variant.
  std::vector<std::pair<std::string, spread>> times_us;
  std::vector<target> targets;
};

bench_row make_row(const workload& work, const measured_workload& measured);

nlohmann::ordered_json row_json(const bench_row& row);
std::string rows_table(const std::vector<bench_row>& rows);

}  // namespace troupe::bench
