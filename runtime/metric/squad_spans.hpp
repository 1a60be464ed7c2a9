#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/metric/metric_table.hpp"
#include "runtime/text_metric/squad_totals.hpp"
#include <troupe/metric_of.hpp>

namespace troupe {

/// One span of one window; see answer_span.
struct squad_span_row {
  std::uint64_t question = 0;
  /// Among those of its question, from 0.
  std::uint64_t window = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double start_logit = 0;
  double end_logit = 0;
};

/// The labels of data of questions, by name.
///   window   int64 [N, 4]: question, window, n_best, max_answer_length
///   offsets  int32 [N, L, 2]: for each token the bytes of the context; -1 where it is of no context, -2 for padding
inline constexpr const char* window_label = "window";
inline constexpr const char* offsets_label = "offsets";

/// The metric "squad" as a stage knows it: it keeps the best spans of every window, of the outputs start_logits and
/// end_logits, [N, L] each. Without the texts it has no value: the data set's own metric, which derives from this one,
/// has them.
class squad_spans : public row_metric<squad_span_row> {
 public:
  squad_spans() : row_metric("squad") {}

 protected:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<squad_span_row>& rows) const final;
  [[nodiscard]] metric_value compute(std::span<const squad_span_row> rows) const override;
};

/// The fields of result.json: exact_match, f1 and total; of v2 also HasAns_exact and so on, by the official names.
metric_value squad_value(const squad_totals& totals);

}  // namespace troupe
