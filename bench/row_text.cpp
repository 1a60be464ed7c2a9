#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ratios.hpp"
#include "runtime/report/text_table.hpp"

namespace troupe::bench {
namespace {

constexpr std::size_t table_width = 132;

std::string percent(const spread& of) {
  return fmt::format("{:.1f} [{:.1f}, {:.1f}]", 100 * of.median, 100 * of.least, 100 * of.most);
}

std::string missed(const bench_row& row) {
  std::string names;
  for (const target& one : row.targets) {
    if (!one.reached()) names += (names.empty() ? "" : ", ") + one.name;
  }
  for (const std::string& one : row.different) names += (names.empty() ? "" : ", ") + one + " DIFFERS";
  return names.empty() ? "-" : names;
}

}  // namespace

nlohmann::ordered_json row_json(const bench_row& row) {
  nlohmann::ordered_json json{{"model", row.model},
                              {"micro_batch", row.micro_batch},
                              {"micro_batches", row.micro_batches},
                              {"metrics", row.metrics},
                              {"boundaries", row.boundaries},
                              {"plain_us_per_micro_batch", spread_json(row.plain_us)},
                              {"slowest_stage_alone_us", spread_json(row.slowest_alone_us)},
                              {"slowest_stage_in_pipeline_us", spread_json(row.slowest_together_us)},
                              {"efficiency", spread_json(row.efficiency)},
                              {"efficiency_with_fill", spread_json(row.efficiency_with_fill)},
                              {"balance", spread_json(row.balance)}};
  if (row.share_of_half) json["share_of_half"] = spread_json(*row.share_of_half);
  if (row.share_of_half_with_fill) json["share_of_half_with_fill"] = spread_json(*row.share_of_half_with_fill);
  json["one_stage_cost"] = spread_json(row.one_stage_cost);
  json["best_over_plain"] = spread_json(row.best_over_plain);
  json["best_of_ours"] = row.best_of_ours;
  json["best_of_plain"] = row.best_of_plain;
  json["whole_over_layers"] = spread_json(row.whole_over_layers);
  for (const auto& [name, time] : row.times_us) json["us_per_micro_batch"][name] = spread_json(time);
  json["targets"] = nlohmann::ordered_json::array();
  for (const target& one : row.targets) {
    json["targets"].push_back({{"name", one.name},
                               {"value", one.value},
                               {one.at_least ? "at_least" : "at_most", one.limit},
                               {"reached", one.reached()}});
  }
  json["results_equal"] = row.different.empty();
  json["different"] = row.different;
  return json;
}

std::string rows_table(const std::vector<bench_row>& rows) {
  using align = text_table::align;
  text_table table({align::left, align::right, align::right, align::right, align::right, align::right, align::right,
                    align::right, align::right, align::left});
  table.add({"model", "B", "M", "plain us", "stage us", "eff. %", "bal. %", "S=1 %", "best %", "targets missed"});
  for (const bench_row& row : rows) {
    table.add({row.model, fmt::format("{}", row.micro_batch), fmt::format("{}", row.micro_batches),
               fmt::format("{:.1f}", row.plain_us.median), fmt::format("{:.1f}", row.slowest_alone_us.median),
               percent(row.efficiency_with_fill), fmt::format("{:.0f}", 100 * row.balance.median),
               percent(row.one_stage_cost), percent(row.best_over_plain), missed(row)});
  }
  return table.text(table_width);
}

}  // namespace troupe::bench
