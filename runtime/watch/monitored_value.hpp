#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <troupe/error.hpp>
#include <troupe/scalars.hpp>

namespace troupe {

/// A number of a result: METRIC for its first field, METRIC.FIELD for another one.
struct monitored_value {
  std::string metric;
  std::string field = {};

  /// A metric of the list, as --monitor names it. E0102 with a suggestion.
  [[nodiscard]] static expected<monitored_value> read(const std::string& text, const std::vector<std::string>& metrics);
  [[nodiscard]] std::string text() const { return field.empty() ? metric : metric + "." + field; }

  /// The number in the object `metrics` of result.json. E0102, which lists the fields.
  [[nodiscard]] expected<double> of(const nlohmann::ordered_json& metrics) const;
};

/// Whether a smaller value of the metric is better: losses, errors, perplexities.
[[nodiscard]] bool is_loss(const std::string& metric);

/// What scalars_of() gives for these metrics of the first sink.
[[nodiscard]] std::vector<scalar> scalars_in(const nlohmann::ordered_json& metrics);

}  // namespace troupe
