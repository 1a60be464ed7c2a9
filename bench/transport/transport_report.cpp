#include "transport_report.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../spread.hpp"

namespace troupe::bench {
namespace {

using by_round = std::vector<double> transport_times::*;

const std::string copy_lane = "memcpy";
const std::string latency_base = "unix-socket";
/// Behind the name of a lane: the same one without a checksum.
const std::string without_checksum = "-no-crc";

const transport_times& times_of(const transport_results& results, const std::string& lane, std::size_t bytes) {
  return results.at(lane).at(bytes);
}

std::optional<spread> ratio_to(const transport_results& results, const std::string& base, const std::string& lane,
                               std::size_t bytes, by_round value) {
  if (!results.contains(base)) return std::nullopt;
  const auto& over = times_of(results, lane, bytes).*value;
  const auto& under = times_of(results, base, bytes).*value;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < over.size(); ++i) ratios.push_back(over[i] / under[i]);
  return spread_of(std::move(ratios));
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1u << 20) return fmt::format("{} MiB", bytes >> 20);
  return bytes >= 1u << 10 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} B", bytes);
}

/// Three digits are what the spread allows.
std::string digits(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string range(const spread& of) {
  return fmt::format("{} [{}, {}]", digits(of.median), digits(of.least), digits(of.most));
}

using cell_text = std::function<std::string(const std::string& lane, std::size_t bytes)>;

std::string table(const std::string& title, const std::vector<std::string>& lanes, const times_by_size& sizes,
                  const cell_text& cell) {
  std::string text = title + "\n\n| |";
  std::string rule = "|---|";
  for (const auto& [bytes, unused] : sizes) {
    text += " " + size_text(bytes) + " |";
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::string& lane : lanes) {
    text += "| " + lane + " |";
    for (const auto& [bytes, unused] : sizes) text += " " + cell(lane, bytes) + " |";
    text += "\n";
  }
  return text + "\n";
}

nlohmann::ordered_json row_json(const transport_results& results, const std::string& lane, std::size_t bytes) {
  const transport_times& times = times_of(results, lane, bytes);
  nlohmann::ordered_json json{{"transport", lane},
                              {"bytes", bytes},
                              {"turns", times.turns},
                              {"streamed", times.streamed},
                              {"hop_p50_us", spread_json(spread_of(times.p50_us))},
                              {"hop_p99_us", spread_json(spread_of(times.p99_us))},
                              {"gb_per_s", spread_json(spread_of(times.gb_per_s))}};
  const auto add_ratio = [&](const char* name, const std::string& base, by_round value) {
    if (const auto ratio = ratio_to(results, base, lane, bytes, value)) json[name] = spread_json(*ratio);
  };
  add_ratio("hop_over_unix_socket", latency_base, &transport_times::p50_us);
  add_ratio("bandwidth_over_memcpy", copy_lane, &transport_times::gb_per_s);
  add_ratio("hop_over_no_crc", lane + without_checksum, &transport_times::p50_us);
  add_ratio("bandwidth_over_no_crc", lane + without_checksum, &transport_times::gb_per_s);
  return json;
}

/// Medians of ratios to `base_of` each lane, for lanes that have one; nothing where none has.
std::string ratio_table(const std::string& title, const std::vector<std::string>& lanes,
                        const transport_results& results, by_round value,
                        const std::function<std::string(const std::string&)>& base_of) {
  std::vector<std::string> with_base;
  std::ranges::copy_if(lanes, std::back_inserter(with_base),
                       [&](const auto& lane) { return results.contains(base_of(lane)); });
  if (with_base.empty()) return {};
  return table(title, with_base, results.at(lanes.front()), [&](const std::string& lane, std::size_t bytes) {
    return digits(ratio_to(results, base_of(lane), lane, bytes, value)->median);
  });
}

std::string ratio_tables(const std::vector<std::string>& lanes, const transport_results& results) {
  const auto hops = &transport_times::p50_us;
  const auto bandwidths = &transport_times::gb_per_s;
  const auto always = [](const std::string& base) { return [&base](const std::string&) { return base; }; };
  const auto plain = [](const std::string& lane) { return lane + without_checksum; };
  return ratio_table("Hop (p50) over that of " + latency_base, lanes, results, hops, always(latency_base)) +
         ratio_table("Bandwidth over that of " + copy_lane, lanes, results, bandwidths, always(copy_lane)) +
         ratio_table("Hop (p50) with a checksum over that without", lanes, results, hops, plain) +
         ratio_table("Bandwidth with a checksum over that without", lanes, results, bandwidths, plain);
}

}  // namespace

nlohmann::ordered_json transport_json(const std::vector<std::string>& lanes, const transport_results& results) {
  auto rows = nlohmann::ordered_json::array();
  for (const std::string& lane : lanes) {
    for (const auto& [bytes, unused] : results.at(lane)) rows.push_back(row_json(results, lane, bytes));
  }
  return rows;
}

std::string transport_tables(const std::vector<std::string>& lanes, const transport_results& results) {
  const times_by_size& sizes = results.at(lanes.front());
  std::string text = table("Hop in us: median [min, max] of the rounds' p50; median of their p99", lanes, sizes,
                           [&](const std::string& lane, std::size_t bytes) {
                             const transport_times& times = times_of(results, lane, bytes);
                             return range(spread_of(times.p50_us)) + "; " + digits(spread_of(times.p99_us).median);
                           });
  text += table("Bandwidth in GB/s: median [min, max] of the rounds", lanes, sizes,
                [&](const std::string& lane, std::size_t bytes) {
                  return range(spread_of(times_of(results, lane, bytes).gb_per_s));
                });
  return text + ratio_tables(lanes, results);
}

}  // namespace troupe::bench
