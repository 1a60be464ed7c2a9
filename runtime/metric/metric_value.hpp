#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The final values of one metric, under the names and in the order of result.json (docs/metrics.md). Look-ups throw
/// error_exception (E0102) for a field that does not exist or has another form; its text lists the fields.
struct metric_value {
  std::string name;
  /// Exact counts and real numbers keep their kinds, so that JSON shows 9904 and 0.9904.
  struct field {
    std::string name;
    bool is_list = false;
    bool is_count = false;
    std::vector<double> reals;
    std::vector<std::uint64_t> counts;
  };
  std::vector<field> fields;

  /// The first field: the share of an accuracy, the mean of a loss, the macro average of f1.
  [[nodiscard]] double value() const;
  /// A number; a count is converted.
  [[nodiscard]] double value(const std::string& field_name) const;
  /// A count, exact.
  [[nodiscard]] std::uint64_t count(const std::string& field_name) const;
  /// A list, one entry per class; counts are converted.
  [[nodiscard]] std::vector<double> column(const std::string& field_name) const;
  /// A list of counts, exact.
  [[nodiscard]] const std::vector<std::uint64_t>& counts(const std::string& field_name) const;
};

// For the compute() of a metric.
metric_value::field real_field(std::string name, double real);
metric_value::field count_field(std::string name, std::uint64_t count);
metric_value::field real_list(std::string name, std::vector<double> reals);
metric_value::field count_list(std::string name, std::span<const std::uint64_t> counts);
/// part / total. NaN if total is 0, since 0 would mean that all samples were wrong.
double share(std::uint64_t part, std::uint64_t total) noexcept;

/// Throws error_exception (E0102): "there is no KIND "NAME"; there are: ...", with the nearest name as its fix.
[[noreturn]] void throw_unknown(std::string where, const std::string& kind, const std::string& name,
                                const std::vector<std::string>& known);
template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& each : all) names.push_back(each.name);
  return names;
}
/// The metric of that name. Throws error_exception (E0102) that lists the names; `where` names what was searched.
const metric_value& find_metric(const std::vector<metric_value>& metrics, const std::string& name,
                                const std::string& where);

}  // namespace troupe
