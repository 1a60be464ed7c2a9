#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

/// Three kinds of scores, told apart by their shapes:
enum class score_kind : std::uint8_t {
  binary,   ///< outputs [N] or [N, 1], labels [N] or [N, 1] of 0 and 1
  classes,  ///< outputs [N, C], labels [N] or [N, 1] of classes
  labels,   ///< outputs and labels [N, L], labels of 0 and 1
};

/// What a metric of scores takes.
struct score_rules {
  bool takes_binary = true;
  bool takes_classes = true;
  bool takes_labels = true;
  /// Classes of the data; 0: not known.
  std::size_t known_classes = 0;
};

/// What outputs are: the option `from`, or logits where it is not given.
struct score_source {
  bool is_given = false;
  bool are_probabilities = false;

  [[nodiscard]] static score_source of(const metric_settings& settings);
};

/// One sample: what the model gave, and which columns are right.
struct scored_sample {
  /// One number for each column; probabilities where they were asked for.
  std::span<double> scores;
  /// 1 for the columns that are right, else 0.
  std::span<const std::uint8_t> flags;
  /// The class that is right; of classes alone.
  std::size_t label = 0;
};

/// One micro-batch of scores, read into memory of its own: whatever their types, the metrics loop over doubles.
class scored_rows {
 public:
  /// E0603 for outputs and labels that do not fit.
  [[nodiscard]] static expected<scored_rows> open(const std::string& metric, const scored_part& part,
                                                  const score_rules& rules);

  [[nodiscard]] score_kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t size() const noexcept { return samples_; }
  /// Outputs of a sample.
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  /// Its scores may be changed.
  [[nodiscard]] scored_sample at(std::size_t i) noexcept {
    return {std::span(scores_).subspan(i * columns_, columns_),
            std::span<const std::uint8_t>(flags_).subspan(i * columns_, columns_),
            kind_ == score_kind::classes ? labels_[i] : 0};
  }

 private:
  score_kind kind_ = score_kind::binary;
  std::size_t samples_ = 0;
  std::size_t columns_ = 1;
  std::vector<double> scores_;
  std::vector<std::uint8_t> flags_;
  std::vector<std::size_t> labels_;
};

/// Makes probabilities of logits: softmax over classes, sigmoid of each other number.
void make_probabilities(score_kind kind, std::span<double> scores) noexcept;

/// For metric::judge of a metric that needs probabilities. E0108 where outputs are said to be probabilities and are
/// none, or where nothing is said and all of them may be probabilities.
[[nodiscard]] expected<void> judge_source(const std::string& metric, scored_rows batch, const score_source& source);

}  // namespace troupe
