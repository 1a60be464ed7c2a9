#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <troupe/limits.hpp>
#include <troupe/metric.hpp>

namespace troupe {

/// What a metric by name is made from.
struct metric_request {
  /// As it was asked for: "top5".
  std::string name;
  /// The K of a name that ends in K; 0 for the others.
  std::int64_t k = 0;
  /// Greatest label + 1 of the data; 0: the labels are no classes.
  std::uint32_t classes = 0;
};

/// What outputs and labels a metric fits.
enum class metric_task : std::uint8_t {
  classes,  ///< outputs [samples, classes], labels int64 [samples] or [samples, 1]
  numbers,  ///< outputs and labels of the same shape
};

/// One row of the table.
struct metric_kind {
  /// A K at the end stands for a number from 1 to limits::metric_classes_max.
  std::string_view name;
  metric_task task;
  /// One line for --help and docs/metrics.md (a test compares them).
  std::string_view help;
  expected<metric_ptr> (*make)(const metric_request&);
};

// Formulas and fields: docs/metrics.md.
expected<metric_ptr> make_top_k(const metric_request& asked);
expected<metric_ptr> make_per_class_accuracy(const metric_request& asked);
expected<metric_ptr> make_confusion_matrix(const metric_request& asked);
expected<metric_ptr> make_cross_entropy(const metric_request& asked);
expected<metric_ptr> make_nll(const metric_request& asked);
expected<metric_ptr> make_f1(const metric_request& asked);
expected<metric_ptr> make_mae(const metric_request& asked);
expected<metric_ptr> make_mse(const metric_request& asked);

/// All metrics by name. A new one has its row here, its function above and a source file of its own.
inline constexpr std::array metric_kinds = {
    metric_kind{"accuracy", metric_task::classes, "share of samples whose label is the predicted class", make_top_k},
    metric_kind{"topK", metric_task::classes, "share of samples whose label is among the first K classes", make_top_k},
    metric_kind{"per_class_accuracy", metric_task::classes, "accuracy over the samples of each label",
                make_per_class_accuracy},
    metric_kind{"confusion_matrix", metric_task::classes, "how often each label was taken for each class",
                make_confusion_matrix},
    metric_kind{"cross_entropy", metric_task::classes, "mean cross-entropy of logits", make_cross_entropy},
    metric_kind{"nll", metric_task::classes, "mean negative log-likelihood, of log-probabilities", make_nll},
    metric_kind{"f1", metric_task::classes, "F1 score: macro, micro and per class", make_f1},
    metric_kind{"mae", metric_task::numbers, "mean absolute error, for regression", make_mae},
    metric_kind{"mse", metric_task::numbers, "mean squared error, for regression", make_mse},
};

/// "accuracy, topK, nll": the names of the table.
std::string metric_list();
/// The same of one task alone.
std::string metric_list(metric_task task);

/// For metrics that count per class: E0103 where the labels are no classes, or are more than `classes_max`.
expected<void> check_class_state(const metric_request& asked, std::uint32_t classes_max = limits::metric_classes_max);
/// total[i] += part[i]
void merge_counts(std::span<std::uint64_t> total, std::span<const std::uint64_t> part);

}  // namespace troupe
