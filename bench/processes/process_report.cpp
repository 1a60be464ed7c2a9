#include "process_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../spread.hpp"

namespace troupe::bench {
namespace {

enum class which : std::uint8_t { all, steady };

std::vector<double> ratios(const measured_processes& row, const measured_comparison& one, which pairs) {
  std::vector<double> values;
  for (const paired_times& each : one.pairs) {
    if (pairs == which::all || is_steady(one.what, each)) values.push_back(ratio_of(row, one.what, each));
  }
  return values;
}

std::string cells(const std::vector<double>& values) {
  if (values.empty()) return "| 0 | | | ";
  const spread of = spread_of(values);
  return fmt::format("| {} | {:.1f} | {:.1f} to {:.1f} | {:.0f} to {:.0f} ", values.size(), 100 * of.median,
                     100 * of.low, 100 * of.high, 100 * of.least, 100 * of.most);
}

}  // namespace

std::string comparison_table(const std::vector<measured_processes>& rows) {
  std::string text =
      "Per cent; interval: 95 % for the median; steady: pairs during which the machine was the same; stage: the "
      "slowest "
      "alone, us\n\n"
      "| model | B | M | stage | | pairs | median | interval | range | steady pairs | median | interval | range |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const measured_processes& row : rows) {
    for (const measured_comparison& one : row.comparisons) {
      text += fmt::format("| {} | {} | {} | {:.0f} | {} {}{}|\n", row.model, row.micro_batch, row.micro_batches,
                          row.slowest_stage_us, one.what.name, cells(ratios(row, one, which::all)),
                          cells(ratios(row, one, which::steady)));
    }
  }
  return text;
}

nlohmann::ordered_json processes_json(const measured_processes& row) {
  nlohmann::ordered_json json{{"model", row.model},
                              {"micro_batch", row.micro_batch},
                              {"micro_batches", row.micro_batches},
                              {"slowest_stage_us", row.slowest_stage_us},
                              {"other_stage_share", row.other_stage_share},
                              {"results_equal", row.different.empty()},
                              {"different", row.different}};
  for (const measured_comparison& one : row.comparisons) {
    nlohmann::ordered_json made{{"of", one.what.of}, {"reference", one.what.reference}};
    made["ratio"] = spread_json(spread_of(ratios(row, one, which::all)));
    const auto steady = ratios(row, one, which::steady);
    made["steady_pairs"] = steady.size();
    if (!steady.empty()) made["ratio_steady"] = spread_json(spread_of(steady));
    for (const paired_times& each : one.pairs) {
      made["us"].push_back(
          {each.reference_before, each.side_by_side_before, each.of, each.side_by_side_after, each.reference_after});
    }
    json["comparisons"][one.what.group][one.what.name] = std::move(made);
  }
  return json;
}

}  // namespace troupe::bench
