#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/metric/output_rows.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// How a metric of classes looks at outputs and labels.
struct class_rules {
  /// Samples with this label are left out.
  std::optional<std::int64_t> ignored = std::nullopt;
  /// Labels from here on are of no class of the data; 0: every class of the model may be a label.
  std::size_t known_classes = 0;
  /// Two classes, and the metric can count a single output above `threshold` as class 1.
  bool takes_one_output = false;
  std::optional<double> threshold = std::nullopt;
};

/// One micro-batch of a metric of classes: outputs [N, classes] with labels [N] or [N, 1], or one output per sample.
struct class_batch {
  at::Tensor outputs;
  at::Tensor labels;
  class_rules rules;
  /// A sample has one output, which says class 1 if it is above the threshold.
  bool is_binary = false;

  /// E0603 for outputs and labels that do not fit.
  [[nodiscard]] static expected<class_batch> open(const std::string& metric, const scored_part& part,
                                                  const class_rules& rules);

  [[nodiscard]] std::int64_t size() const { return labels.size(0); }
  /// Calls `use(rows, sample, label)` for each sample that is not left out.
  template <class Use>
  void for_each(const Use& use) const {
    const label_column column = labels_of(labels);
    with_rows_of(outputs, [&](const auto& rows) {
      for (std::int64_t i = 0; i < rows.samples; ++i) {
        if (const std::int64_t label = column.at(i); label != rules.ignored) use(rows, i, label);
      }
    });
  }
  /// The class that a sample is taken for.
  template <class T>
  [[nodiscard]] std::int64_t predicted(const output_rows<T>& rows, std::int64_t sample) const noexcept {
    if (!is_binary) return argmax(rows, sample);
    return static_cast<double>(rows.at(sample, 0)) > *rules.threshold ? 1 : 0;
  }
};

}  // namespace troupe
