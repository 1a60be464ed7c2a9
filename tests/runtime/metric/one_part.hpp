#pragma once

#include <span>
#include <vector>

#include <troupe/metric.hpp>

namespace troupe {

/// metric::update_words of one output and one label.
inline expected<void> update_words(const metric& one, const at::Tensor& outputs, const at::Tensor& labels,
                                   std::span<std::uint64_t> state) {
  std::vector<std::byte> rows;
  return one.update_words({outputs, labels}, state, rows);
}

/// What a metric without rows makes of a state.
inline metric_value value_of(const metric& one, std::span<const std::uint64_t> state) {
  return one.compute_total({state, {}});
}

}  // namespace troupe
