#include "program/plan/crossing.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/plan/crossing_json.hpp"
#include "runtime/report/text_table.hpp"

namespace troupe {
namespace {

constexpr std::size_t makers_named_max = 8;

/// "5 encoder.layer.3"; of an nn.Sequential, where the name is the number, "layer 5".
std::string numbered(std::size_t layer, const std::string& name) {
  const std::string number = fmt::format("{}", layer);
  return name == number ? "layer " + number : number + " " + path_end(name, name_columns_max);
}

/// In the order of their values.
std::vector<std::string> makers_of(const crossing& place) {
  std::vector<std::string> makers;
  for (const crossing_value& each : place.values) {
    const std::string maker = each.layer ? numbered(*each.layer, each.made_by) : each.made_by;
    if (std::ranges::find(makers, maker) == makers.end()) makers.push_back(maker);
  }
  return makers;
}

}  // namespace

std::optional<std::uint64_t> crossing::bytes() const {
  std::uint64_t sum = 0;
  for (const crossing_value& each : values) {
    if (!each.bytes) return std::nullopt;
    sum += *each.bytes;
  }
  return sum;
}

std::string path_end(std::string_view path, std::size_t columns) {
  if (text_columns(path) <= columns) return std::string(path);
  while (text_columns(path) >= columns && path.find('.') != std::string_view::npos) {
    path.remove_prefix(path.find('.') + 1);
  }
  return shortened("…" + std::string(path), columns);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto scaled = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < units.size(); ++unit) scaled /= 1024;
  return fmt::format("{:.2f} {}", scaled, units.at(unit));
}

std::string crossing_text(const crossing& place) {
  std::vector<std::string> makers = makers_of(place);
  const std::size_t left_out = makers.size() - std::min(makers.size(), makers_named_max);
  makers.resize(makers.size() - left_out);
  std::string text = fmt::format("{} value{}", place.values.size(), place.values.size() == 1 ? "" : "s");
  if (const auto bytes = place.bytes()) text += ", " + bytes_text(*bytes);
  if (!makers.empty()) text += fmt::format(": {}", fmt::join(makers, ", "));
  return left_out == 0 ? text : text + fmt::format(" and {} more", left_out);
}

nlohmann::ordered_json crossing_json(const crossing& place) {
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  for (const crossing_value& each : place.values) {
    values.push_back({{"made_by", each.made_by},
                      {"layer", or_null(each.layer)},
                      {"shape", or_null(each.shape)},
                      {"bytes", or_null(each.bytes)}});
  }
  return {{"joined_because", text_or_null(place.joined_because)},
          {"bytes", or_null(place.bytes())},
          {"values", std::move(values)}};
}

}  // namespace troupe
