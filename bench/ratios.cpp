#include "ratios.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace troupe::bench {
namespace {

constexpr double long_stage_us = 300;
constexpr double efficiency_of_long_stages = 0.97;
constexpr double efficiency_of_short_stages = 0.93;
constexpr double cost_counts_from_us = 1000;
constexpr double cost_max = 1.02;

using by_round = std::function<double(const round_times&)>;
using named_time = std::pair<std::string, double round_times::*>;

const std::vector<named_time> plain_variants = {{"plain loop", &round_times::plain_1},
                                                {"plain loop, 2 threads", &round_times::plain_2}};
const std::vector<named_time> our_variants = {{"1 stage, 2 threads", &round_times::stages_1_threads_2},
                                              {"2 stages", &round_times::stages_2},
                                              {"2 replicas", &round_times::replicas_2}};

spread spread_of(const std::vector<round_times>& rounds, const by_round& value) {
  std::vector<double> values;
  std::ranges::transform(rounds, std::back_inserter(values), value);
  return bench::spread_of(std::move(values));
}

double slowest(const std::vector<double>& stages) {
  return std::ranges::max(stages);
}

/// The time of all micro-batches, were the slowest stage never kept waiting after the first one has reached it.
double with_fill(const std::vector<double>& alone, double micro_batches) {
  return micro_batches * slowest(alone) + std::accumulate(alone.begin(), alone.end(), 0.0) - slowest(alone);
}

/// Chosen by the medians and not round by round, which would pick the luckiest of several.
named_time best_of(const std::vector<round_times>& rounds, const std::vector<named_time>& variants) {
  return *std::ranges::min_element(variants, {}, [&](const named_time& one) {
    return spread_of(rounds, [&](const round_times& round) { return round.*one.second; }).median;
  });
}

std::vector<target> targets_of(const bench_row& row) {
  std::vector<target> targets;
  const double stage_limit =
      row.slowest_alone_us.median >= long_stage_us ? efficiency_of_long_stages : efficiency_of_short_stages;
  targets.push_back({"efficiency_with_fill", row.efficiency_with_fill.median, stage_limit, true});
  if (row.share_of_half_with_fill) {
    targets.push_back({"share_of_half_with_fill", row.share_of_half_with_fill->median, stage_limit, true});
  }
  if (row.plain_us.median < cost_counts_from_us) return targets;
  targets.push_back({"one_stage_cost", row.one_stage_cost.median, cost_max, false});
  targets.push_back({"best_over_plain", row.best_over_plain.median, cost_max, false});
  return targets;
}

}  // namespace

bench_row make_row(const workload& work, const measured_workload& measured) {
  const auto count = static_cast<double>(measured.micro_batches);
  const auto over_rounds = [&](const by_round& value) { return spread_of(measured.rounds, value); };
  bench_row row;
  row.model = work.model;
  row.micro_batch = work.micro_batch;
  row.micro_batches = measured.micro_batches;
  row.metrics = work.metric_names;
  row.boundaries = measured.boundaries;
  row.different = measured.different;
  row.plain_us = over_rounds([](const round_times& r) { return r.plain_1; });
  row.slowest_alone_us = over_rounds([](const round_times& r) { return slowest(r.alone); });
  row.slowest_together_us = over_rounds([](const round_times& r) { return slowest(r.together); });
  row.efficiency = over_rounds([](const round_times& r) { return slowest(r.alone) / r.stages_2; });
  row.efficiency_with_fill =
      over_rounds([&](const round_times& r) { return with_fill(r.alone, count) / (count * r.stages_2); });
  row.balance = over_rounds([](const round_times& r) {
    const double sum = std::accumulate(r.alone.begin(), r.alone.end(), 0.0);
    return sum / static_cast<double>(r.alone.size()) / slowest(r.alone);
  });
  if (work.even) {
    row.share_of_half = over_rounds([](const round_times& r) { return r.plain_1 / 2 / r.stages_2; });
    row.share_of_half_with_fill =
        over_rounds([&](const round_times& r) { return r.plain_1 / 2 * (count + 1) / (count * r.stages_2); });
  }
  row.one_stage_cost = over_rounds([](const round_times& r) { return r.stages_1 / r.plain_1; });
  row.whole_over_layers = over_rounds([](const round_times& r) { return r.whole_1 / r.plain_1; });
  const named_time ours = best_of(measured.rounds, our_variants);
  const named_time plain = best_of(measured.rounds, plain_variants);
  row.best_of_ours = ours.first;
  row.best_of_plain = plain.first;
  row.best_over_plain = over_rounds([&](const round_times& r) { return r.*ours.second / r.*plain.second; });
  std::vector<named_time> all = plain_variants;
  all.insert(all.end(), {{"whole model", &round_times::whole_1}, {"1 stage", &round_times::stages_1}});
  all.insert(all.end(), our_variants.begin(), our_variants.end());
  for (const auto& [name, time] : all) {
    row.times_us.emplace_back(name, over_rounds([time = time](const round_times& r) { return r.*time; }));
  }
  row.targets = targets_of(row);
  return row;
}

}  // namespace troupe::bench
