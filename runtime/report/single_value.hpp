#pragma once

#include <troupe/metric.hpp>

namespace troupe {

/// Whether metric_value::value() gives a number. A confusion matrix, for one, has lists alone.
[[nodiscard]] inline bool has_single_value(const metric_value& metric) noexcept {
  return !metric.fields.empty() && !metric.fields.front().is_list;
}

}  // namespace troupe
