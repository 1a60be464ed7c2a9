#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// The rows of a metric that ranks scores, as words. A sample has
///   the number of its columns;
///   a score for each of them, as the bits of a double;
///   a bit for each of them, set where the column is right.
void append_ranking_row(std::span<const double> scores, std::span<const std::uint8_t> flags,
                        std::vector<std::byte>& rows);

/// One column of all samples: scores, and whether they are right.
struct ranking_column {
  std::vector<double> scores;
  std::vector<std::uint8_t> flags;
};

/// Reads rows, which may have any values: nothing where they contradict themselves or have another number of columns in
/// one sample than in the next, or too many. No samples are no columns.
[[nodiscard]] std::optional<std::vector<ranking_column>> read_ranking_rows(std::span<const std::byte> rows);

/// Right and wrong samples above a threshold as it falls: those with equal scores come together.
class ranking_curve {
 public:
  /// Sorts; a column with NaN has no order.
  explicit ranking_curve(const ranking_column& column);

  struct values {
    double positives = 0;
    double negatives = 0;
    double auroc = 0;
    double average_precision = 0;
  };
  /// Where sample i counts times[i] times; empty: once each. NaN where there is no order, for `auroc` also where all or
  /// no samples are right, for `average_precision` where none is.
  [[nodiscard]] values compute(std::span<const double> times) const;

 private:
  bool has_order_ = true;
  /// Samples by falling score.
  std::vector<std::uint32_t> order_;
  /// By place in the order: whether its score is that of the place before.
  std::vector<std::uint8_t> is_tied_;
  std::vector<std::uint8_t> flags_;
};

}  // namespace troupe
