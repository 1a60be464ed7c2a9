#include "runtime/watch/monitored_value.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/json/json_number.hpp"
#include "runtime/monitor/scalar_name.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

expected<monitored_value> monitored_value::read(const std::string& text, const std::vector<std::string>& metrics) {
  if (std::ranges::find(metrics, text) != metrics.end()) return monitored_value{text};
  const std::size_t dot = text.rfind('.');
  monitored_value made{text.substr(0, dot), dot == std::string::npos ? "" : text.substr(dot + 1)};
  if (std::ranges::find(metrics, made.metric) != metrics.end()) return made;
  return fail(error_code::unknown_name, "--monitor", fmt::format("'{}' is none of the metrics that are computed", text),
              suggest_fix(made.metric, metrics));
}

expected<double> monitored_value::of(const nlohmann::ordered_json& metrics) const {
  std::vector<std::string> fields;
  const auto found = metrics.find(metric);
  const bool is_there = found != metrics.end() && found->is_object() && !found->empty();
  if (is_there && field.empty()) {
    if (const auto number = number_in_json(found->front())) return *number;
  }
  if (is_there) {
    for (const auto& [name, value] : found->items()) {
      const auto number = number_in_json(value);
      if (number && name == field) return *number;
      if (number) fields.push_back(metric + "." + name);
    }
  }
  return fail(
      error_code::unknown_name, "--monitor", fmt::format("the result has no number '{}'", text()),
      fields.empty() ? "name another metric" : fmt::format("give --monitor one of {}", fmt::join(fields, ", ")));
}

bool is_loss(const std::string& metric) {
  constexpr std::array<std::string_view, 10> parts = {"loss",  "entropy", "nll",         "mae",        "mse",
                                                      "error", "brier",   "calibration", "perplexity", "bits_per_byte"};
  return metric == "wer" ||
         std::ranges::any_of(parts, [&](std::string_view part) { return metric.find(part) != std::string::npos; });
}

std::vector<scalar> scalars_in(const nlohmann::ordered_json& metrics) {
  std::vector<scalar> made;
  for (const auto& [metric, fields] : metrics.items()) {
    bool is_first = true;
    for (const auto& [field, value] : fields.items()) {
      const auto number = number_in_json(value);
      const bool is_count = value.is_number_integer();
      const std::string name = scalar_name("eval/" + metric, field, std::exchange(is_first, false), is_count);
      if (number && !name.empty()) made.push_back({name, *number});
    }
  }
  return made;
}

}  // namespace troupe
