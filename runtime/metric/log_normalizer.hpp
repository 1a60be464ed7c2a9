#pragma once

#include <cmath>

#include "runtime/metric/output_rows.hpp"

namespace troupe {

/// log(sum of exp(x)) of a row of logits, kept as the greatest x and the rest, so that nothing overflows. Made of
/// zeros it takes outputs as the log-probabilities that they are.
struct log_normalizer {
  double shift = 0;
  double rest = 0;

  /// The negative log-probability of a class with this output. NaN or +infinity among the outputs give NaN; an output
  /// of -infinity gives +infinity.
  [[nodiscard]] double loss(double output) const noexcept { return rest - (output - shift); }
};

template <class T>
log_normalizer log_sum_exp(const output_rows<T>& rows, std::int64_t sample) noexcept {
  auto greatest = rows.at(sample, 0);
  for (std::int64_t j = 1; j < rows.classes; ++j) {
    const auto value = rows.at(sample, j);
    greatest = value > greatest ? value : greatest;
  }
  const auto shift = static_cast<double>(greatest);
  double sum = 0;
  for (std::int64_t j = 0; j < rows.classes; ++j) sum += std::exp(static_cast<double>(rows.at(sample, j)) - shift);
  return {shift, std::log(sum)};
}

}  // namespace troupe
