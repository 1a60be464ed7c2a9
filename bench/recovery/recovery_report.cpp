#include "recovery_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace troupe::bench {
namespace {

using of_kill = std::function<double(const kill_times&)>;

const std::vector<std::pair<std::string, of_kill>> steps = {
    {"noticed", [](const kill_times& k) { return k.noticed; }},
    {"assigned", [](const kill_times& k) { return k.assigned - k.noticed; }},
    {"made", [](const kill_times& k) { return k.made - k.assigned; }},
    {"warmed", [](const kill_times& k) { return k.warmed - k.made; }},
    {"fed", [](const kill_times& k) { return k.fed - k.warmed; }},
    {"resumed", [](const kill_times& k) { return k.resumed - k.fed; }}};

/// The least value that so many of 100 do not exceed.
double percentile(const std::vector<kill_times>& kills, const of_kill& value, double percent) {
  std::vector<double> values;
  std::ranges::transform(kills, std::back_inserter(values), value);
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

double resumed(const kill_times& kill) {
  return kill.resumed;
}

std::string name_of(const recovery_case& which) {
  return fmt::format("{} | {} | {} | {}", which.model, which.micro_batch, which.stages, which.cold ? "none" : "warm");
}

}  // namespace

std::string recovery_table(const std::vector<recovery_row>& rows) {
  std::string text =
      "Kill to the first new result, ms\n\n| model | B | stages | spare | kills | p50 | p95 | p99 | max | longest gap, "
      "p50 | replayed |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const recovery_row& row : rows) {
    text += fmt::format("| {} | {} ", name_of(row.which), row.kills.size());
    for (const double percent : {50.0, 95.0, 99.0, 100.0}) {
      text += fmt::format("| {:.0f} ", percentile(row.kills, resumed, percent));
    }
    text += fmt::format("| {:.0f} | {:.0f} |\n",
                        percentile(
                            row.kills, [](const auto& k) { return k.gap; }, 50),
                        percentile(
                            row.kills, [](const auto& k) { return static_cast<double>(k.replayed); }, 50));
  }
  return text;
}

std::string steps_table(const std::vector<recovery_row>& rows) {
  std::string text =
      "Where it goes: median of each step, ms\n\n| model | B | stages | spare | noticed | assigned | made | warmed up "
      "| wired, fed | first fold |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const recovery_row& row : rows) {
    text += fmt::format("| {} ", name_of(row.which));
    for (const auto& [name, share] : steps) text += fmt::format("| {:.1f} ", percentile(row.kills, share, 50));
    text += "|\n";
  }
  return text;
}

nlohmann::ordered_json recovery_json(const recovery_row& row) {
  nlohmann::ordered_json json{{"model", row.which.model},
                              {"micro_batch", row.which.micro_batch},
                              {"stages", row.which.stages},
                              {"spare", row.which.cold ? "none" : "warm"},
                              {"kills", row.kills.size()}};
  for (const double percent : {50.0, 95.0, 99.0, 100.0}) {
    json["resumed_ms"][fmt::format("p{:.0f}", percent)] = percentile(row.kills, resumed, percent);
  }
  for (const auto& [name, share] : steps) json["step_p50_ms"][name] = percentile(row.kills, share, 50);
  for (const kill_times& kill : row.kills) {
    json["each"].push_back({{"stage", kill.stage},
                            {"noticed", kill.noticed},
                            {"assigned", kill.assigned},
                            {"made", kill.made},
                            {"warmed", kill.warmed},
                            {"fed", kill.fed},
                            {"resumed", kill.resumed},
                            {"gap", kill.gap},
                            {"replayed", kill.replayed}});
  }
  return json;
}

}  // namespace troupe::bench
