#include <algorithm>

#include "runtime/metric/metric_lookup.hpp"
#include <troupe/result.hpp>

namespace troupe {

const metric_value& sink_report::operator[](const std::string& metric) const {
  return find_metric(metrics, metric, "sink " + name);
}

const metric_value& run_result::operator[](const std::string& metric) const {
  return find_metric(metrics, metric, "result");
}

const sink_report& run_result::sink(const std::string& name) const {
  const auto found = std::ranges::find(sinks, name, &sink_report::name);
  if (found != sinks.end()) return *found;
  throw_unknown("result", "sink", name, names_of(sinks));
}

}  // namespace troupe
