#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/metric/ranking_rows.hpp"
#include "runtime/metric/scored_rows.hpp"

namespace troupe {

using curve_value = double ranking_curve::values::*;

/// Columns as they are scored: of two classes the second, else each class or label.
struct ranked_columns {
  bool is_exact = true;
  std::size_t bins = 0;
  score_source source;
  /// Most columns that are looked at; 0: all.
  std::size_t columns_max = 0;

  /// The numbers that are ranked, and the flags of the right ones. Softmax keeps no order between samples, so that of
  /// several classes probabilities are ranked; a sigmoid keeps it, and is left out as rounding makes ties.
  void read(score_kind kind, const scored_sample& sample, std::vector<double>& scores,
            std::vector<std::uint8_t>& flags) const;
};

/// What exact and binned metrics have alike: how they read samples, and what they make of the curves.
struct ranking {
  std::string name;
  std::string average;
  curve_value chosen;
  score_rules rules;
  ranked_columns columns;

  ranking(const metric_request& asked, curve_value value);

  [[nodiscard]] expected<void> judge(const scored_part& part) const;
  /// One number of the columns' own; `all` is that of all columns as one, for micro.
  [[nodiscard]] double value(const std::vector<ranking_curve::values>& each, double all) const;
  [[nodiscard]] metric_value fields(const std::vector<ranking_curve::values>& each, double all,
                                    std::uint64_t samples) const;
};

/// Keeps the scores of all samples.
[[nodiscard]] metric_ptr make_exact_ranking(const ranking& how);
/// Counts scores in bins; for samples of up to `columns` columns.
[[nodiscard]] metric_ptr make_binned_ranking(const ranking& how, std::size_t columns);

}  // namespace troupe
