#pragma once

#include <string>

namespace troupe {

/// How the scalar of a metric's field is called: "METRIC" for the first one, "METRIC/FIELD" for another one. Empty for
/// counts and sums behind the first, which are no scalars.
inline std::string scalar_name(std::string metric, const std::string& field, bool is_first, bool is_count) {
  if (is_first) return metric;
  return is_count || field == "sum" ? std::string() : metric.append("/").append(field);
}

}  // namespace troupe
