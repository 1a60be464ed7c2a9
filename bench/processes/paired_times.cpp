#include "paired_times.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "../same_bits.hpp"
#include "contestants.hpp"
#include "messages/try.hpp"

namespace troupe::bench {
namespace {

constexpr double steady_within = 0.03;
constexpr double slower_side_by_side = 1.05;

using kind = comparison::ratio;

/// Of models whose layers do not all cost the same, half the plain loop's time is nothing that two stages could reach.
std::vector<comparison> comparisons_of(const std::string& group, const std::vector<std::string>& names, bool even) {
  namespace v = variant;
  std::vector<comparison> all;
  if (even) {
    all = {{"efficiency", "side by side, of half the plain loop", v::side_by_side, v::plain, kind::without_fill},
           {"efficiency", "1 process, of half the plain loop", v::one_process, v::plain, kind::share_of_half, true},
           {"efficiency", "processes, of half the plain loop", v::processes, v::plain, kind::share_of_half, true}};
  }
  const std::vector<comparison> always = {
      {"efficiency", "1 process, of the slowest stage alone", v::one_process, v::slowest_alone,
       kind::share_of_reference, true},
      {"efficiency", "processes, of the slowest stage alone", v::processes, v::slowest_alone, kind::share_of_reference,
       true},
      {"efficiency", "1 process, of both side by side", v::one_process, v::side_by_side, kind::share_of_reference},
      {"efficiency", "processes, of both side by side", v::processes, v::side_by_side, kind::share_of_reference},
      {"layout", "processes over 1 process", v::processes, v::one_process, kind::cost},
      {"layout", "4 over 2 stages, 1 process", v::four_one_process, v::one_process, kind::cost},
      {"layout", "4 over 2 stages, processes", v::four_processes, v::processes, kind::cost},
      {"cost", "journal, 1 process", v::one_process_journal, v::one_process, kind::cost},
      {"cost", "journal, processes", v::processes_journal, v::processes, kind::cost},
      {"cost", "heartbeats", v::processes, v::processes_quiet, kind::cost},
      {"cost", "journal and heartbeats", v::processes_journal, v::processes_quiet, kind::cost},
      {"cost", "CRC of tcp", v::processes_tcp, v::processes_tcp_plain, kind::cost},
      {"cost", "tcp over shm", v::processes_tcp, v::processes, kind::cost}};
  all.insert(all.end(), always.begin(), always.end());
  std::erase_if(all, [&](const comparison& each) {
    const bool is_named = names.empty() || std::ranges::find(names, each.name) != names.end();
    return each.group != group || !is_named;
  });
  return all;
}

/// Measures for one row, and remembers who gave other metrics than the plain loop.
class measuring {
 public:
  measuring(contestants& all, measured_processes& row, std::vector<metric_value> expected_values)
      : all_(all), row_(row), values_(std::move(expected_values)) {}

  expected<paired_times> pair(const comparison& what) {
    paired_times taken;
    std::vector<std::pair<const std::string*, double*>> steps = {
        {&what.reference, &taken.reference_before}, {&what.of, &taken.of}, {&what.reference, &taken.reference_after}};
    if (what.needs_two_cores) {
      steps.insert(steps.begin() + 1, {&variant::side_by_side, &taken.side_by_side_before});
      steps.insert(steps.end() - 1, {&variant::side_by_side, &taken.side_by_side_after});
    }
    for (const auto& [name, us] : steps) {
      const auto one = TROUPE_TRY(all_.run(*name, row_.micro_batches));
      *us = one.us_per_micro_batch;
      if (contestants::is_comparable(*name) && !same_bits(values_, one.values)) row_.different.insert(*name);
    }
    return taken;
  }

 private:
  contestants& all_;
  measured_processes& row_;
  std::vector<metric_value> values_;
};

expected<std::vector<measured_comparison>> measure_group(contestants& all, measuring& with, std::uint32_t rounds,
                                                         const std::vector<comparison>& comparisons) {
  std::vector<measured_comparison> made;
  for (const comparison& each : comparisons) {
    for (const std::string& name : {each.of, each.reference}) {
      TROUPE_TRY(all.prepare(name));
    }
    made.push_back({each, {}});
  }
  std::mt19937 random;
  std::vector<std::size_t> order(made.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t k : order) {
      const auto taken = TROUPE_TRY(with.pair(made[k].what));
      if (round > 0) made[k].pairs.push_back(taken);
    }
  }
  return made;
}

}  // namespace

const std::vector<std::string>& comparison_groups() {
  static const std::vector<std::string> names = {"efficiency", "layout", "cost"};
  return names;
}

expected<measured_processes> measure_pairs(const workload& work, const round_options& options,
                                           const comparison_choice& chosen) {
  measured_processes row{.model = work.model, .micro_batch = work.micro_batch, .comparisons = {}, .different = {}};
  for (const std::string& group : chosen.groups) {
    const std::vector<comparison> comparisons = comparisons_of(group, chosen.names, work.even);
    if (comparisons.empty()) continue;
    auto all = TROUPE_TRY(contestants::gather(work));
    row.micro_batches = TROUPE_TRY(row.micro_batches > 0 ? row.micro_batches : all->count_for(options.seconds));
    const auto reference = TROUPE_TRY(all->run(variant::plain, row.micro_batches));
    TROUPE_TRY(all->find_slowest_stage(row.micro_batches));
    row.slowest_stage_us = all->slowest_stage_us();
    row.other_stage_share = all->other_stage_share();
    measuring with(*all, row, reference.values);
    auto made = TROUPE_TRY(measure_group(*all, with, options.rounds, comparisons));
    row.comparisons.insert(row.comparisons.end(), made.begin(), made.end());
  }
  return row;
}

double ratio_of(const measured_processes& row, const comparison& what, const paired_times& times) {
  const auto count = static_cast<double>(row.micro_batches);
  const double share = times.reference() / times.of;
  switch (what.as) {
    case kind::share_of_half:
      return share / 2 * (count + 1) / count;
    case kind::without_fill:
      return share / 2;
    case kind::share_of_reference:
      return share * (count + row.other_stage_share) / count;
    case kind::cost:
      break;
  }
  return 1 / share;
}

bool is_steady(const comparison& what, const paired_times& times) {
  const auto alike = [](double a, double b) { return std::abs(a - b) <= steady_within * (a + b) / 2; };
  if (!alike(times.reference_before, times.reference_after)) return false;
  if (!what.needs_two_cores) return true;
  const double fair = times.reference() / (what.as == kind::share_of_reference ? 1 : 2);
  return alike(times.side_by_side_before, times.side_by_side_after) &&
         std::max(times.side_by_side_before, times.side_by_side_after) <= slower_side_by_side * fair;
}

}  // namespace troupe::bench
