#include "process_report.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../spread.hpp"

namespace troupe::bench {
namespace {

using ratio = std::function<double(const variant_times&, double micro_batches)>;
using named_ratios = std::vector<std::pair<std::string, ratio>>;

ratio over(const std::string& above, const std::string& below) {
  return [above, below](const variant_times& times, double) { return times.at(above) / times.at(below); };
}

/// As efficiency_with_fill of pipeline_bench.
ratio efficiency(const std::string& of) {
  return [of](const variant_times& times, double count) {
    const auto [least, most] = std::minmax(times.at(variant::alone_0), times.at(variant::alone_1));
    return (count * most + least) / (count * times.at(of));
  };
}

/// As share_of_half_with_fill of pipeline_bench.
ratio share_of_half(const std::string& of) {
  return [of](const variant_times& times, double count) {
    return times.at(variant::plain) / 2 * (count + 1) / count / times.at(of);
  };
}

/// What the machine gives to two programs at once, of what two of its kind would.
double side_by_side_share(const variant_times& times, double) {
  return times.at(variant::plain) / 2 / times.at(variant::side_by_side);
}

/// What is left of that by being a pipeline, which has to be filled.
ratio side_by_side_over(const std::string& of) {
  return [of](const variant_times& times, double count) {
    const double fill = std::min(times.at(variant::alone_0), times.at(variant::alone_1));
    return (count * times.at(variant::side_by_side) + fill) / (count * times.at(of));
  };
}

const named_ratios speed = {{"efficiency_one_process", efficiency(variant::one_process)},
                            {"efficiency_processes", efficiency(variant::processes)},
                            {"share_of_half_one_process", share_of_half(variant::one_process)},
                            {"share_of_half_processes", share_of_half(variant::processes)},
                            {"four_over_two_processes", over(variant::four_processes, variant::processes)},
                            {"share_of_half_shallow", share_of_half(variant::shallow)},
                            {"four_over_two_shallow", over(variant::four_shallow, variant::shallow)},
                            {"four_over_two_one_process", over(variant::four_one_process, variant::one_process)}};

const named_ratios shares_of_half = {{"share_of_half_side_by_side", side_by_side_share},
                                     {"share_of_half_one_process", share_of_half(variant::one_process)},
                                     {"share_of_half_processes", share_of_half(variant::processes)},
                                     {"side_by_side_over_processes", side_by_side_over(variant::processes)}};

const named_ratios costs = {{"processes", over(variant::processes, variant::one_process)},
                            {"journal_one_process", over(variant::one_process_journal, variant::one_process)},
                            {"journal_processes", over(variant::processes_journal, variant::processes)},
                            {"heartbeats", over(variant::processes, variant::processes_quiet)},
                            {"tcp", over(variant::processes_tcp, variant::processes)},
                            {"crc", over(variant::processes_tcp, variant::processes_tcp_plain)}};

/// The rounds in which the machine gave both cores: the stages took hardly longer side by side than alone. It says
/// nothing of the pipeline, which was measured at another moment of the round.
bool is_quiet(const variant_times& round) {
  return round.at(variant::side_by_side) <= 1.03 * std::max(round.at(variant::alone_0), round.at(variant::alone_1));
}

std::vector<variant_times> quiet_rounds(const measured_processes& row) {
  std::vector<variant_times> quiet;
  std::ranges::copy_if(row.rounds, std::back_inserter(quiet), is_quiet);
  return quiet;
}

spread over_these(const std::vector<variant_times>& rounds, const measured_processes& row, const ratio& of) {
  std::vector<double> values;
  for (const variant_times& times : rounds) values.push_back(of(times, static_cast<double>(row.micro_batches)));
  return spread_of(std::move(values));
}

spread over_rounds(const measured_processes& row, const ratio& of) {
  return over_these(row.rounds, row, of);
}

spread time_of(const measured_processes& row, const std::string& name) {
  return over_rounds(row, [&](const variant_times& times, double) { return times.at(name); });
}

std::string percent(const spread& of) {
  return fmt::format("{:.0f} [{:.0f}, {:.0f}]", 100 * of.median, 100 * of.least, 100 * of.most);
}

std::string line(const measured_processes& row, const named_ratios& ratios) {
  const double stage = std::max(time_of(row, variant::alone_0).median, time_of(row, variant::alone_1).median);
  std::string text = fmt::format("| {} | {} | {} | {:.0f} ", row.model, row.micro_batch, row.micro_batches, stage);
  for (const auto& [name, of] : ratios) text += "| " + percent(over_rounds(row, of)) + " ";
  return text + "|\n";
}

}  // namespace

std::string processes_table(const std::vector<measured_processes>& rows) {
  std::string text =
      "Per cent, median [min, max] of the rounds; the slowest stage alone in us\n\n"
      "| model | B | M | stage | efficiency, 1 process | efficiency, processes | share of half, 1 process | share of "
      "half, processes "
      "| 4 over 2 stages, processes | share of half, 2 buffers | 4 over 2, 2 buffers | 4 over 2 stages, 1 process |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const measured_processes& row : rows) text += line(row, speed);
  return text;
}

std::string efficiency_table(const std::vector<measured_processes>& rows) {
  std::string text =
      "Per cent, median [min, max]; quiet: rounds in which both stages side by side took at most 3 % longer than "
      "alone\n\n"
      "| model | B | M | stage | rounds | share of half, side by side | 1 process | processes "
      "| side by side over processes | quiet rounds | side by side | 1 process | processes | side by side over "
      "processes |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const measured_processes& row : rows) {
    text += line(row, {});
    text.erase(text.size() - 2);
    for (const auto& rounds : {row.rounds, quiet_rounds(row)}) {
      text += fmt::format("| {} ", rounds.size());
      for (const auto& [name, of] : shares_of_half) {
        text += rounds.empty() ? "| " : "| " + percent(over_these(rounds, row, of)) + " ";
      }
    }
    text += "|\n";
  }
  return text;
}

std::string cost_table(const std::vector<measured_processes>& rows) {
  std::string text =
      "Time with over time without, per cent, median [min, max] of the rounds\n\n"
      "| model | B | M | stage | processes | journal, 1 process | journal, processes | heartbeats "
      "| tcp over shm | CRC of tcp |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const measured_processes& row : rows) text += line(row, costs);
  return text;
}

nlohmann::ordered_json processes_json(const measured_processes& row) {
  nlohmann::ordered_json json{
      {"model", row.model}, {"micro_batch", row.micro_batch}, {"micro_batches", row.micro_batches}};
  for (const auto& [name, time] : row.rounds.front())
    json["us_per_micro_batch"][name] = spread_json(time_of(row, name));
  const bool all = row.rounds.front().contains(variant::four_processes);
  for (const auto& [name, of] : shares_of_half) json["ratios"][name] = spread_json(over_rounds(row, of));
  for (const auto& [name, of] : all ? speed : named_ratios{}) json["ratios"][name] = spread_json(over_rounds(row, of));
  for (const auto& [name, of] : all ? costs : named_ratios{}) json["costs"][name] = spread_json(over_rounds(row, of));
  json["quiet_rounds"] = quiet_rounds(row).size();
  json["results_equal"] = row.different.empty();
  json["different"] = row.different;
  json["rounds"] = row.rounds;
  return json;
}

}  // namespace troupe::bench
