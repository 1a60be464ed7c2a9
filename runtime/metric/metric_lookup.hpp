#pragma once

#include <string>
#include <vector>

#include <troupe/metric.hpp>

namespace troupe {

/// Throws error_exception (E0102): "there is no KIND "NAME"; there are: ...", with the nearest name as its fix.
[[noreturn]] void throw_unknown(std::string where, const std::string& kind, const std::string& name,
                                const std::vector<std::string>& known);
template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Named& each : all) names.push_back(each.name);
  return names;
}
/// The metric of that name. Throws error_exception (E0102) that lists the names; `where` names what was searched.
const metric_value& find_metric(const std::vector<metric_value>& metrics, const std::string& name,
                                const std::string& where);

}  // namespace troupe
