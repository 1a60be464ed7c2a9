#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/metric/metric_settings.hpp"
#include <troupe/limits.hpp>
#include <troupe/metric.hpp>

namespace troupe {

/// What a metric by name is made from.
struct metric_request {
  /// As it was asked for, in its canonical form: "top5", "fbeta:beta=2".
  std::string name = {};
  /// The K of a name that ends in K; 0 for the others.
  std::int64_t k = 0;
  /// Greatest label + 1 of the data; 0: the labels are no classes.
  std::uint32_t classes = 0;
  metric_settings settings = {};
};

/// What outputs and labels a metric fits.
enum class metric_task : std::uint8_t {
  classes,  ///< outputs [samples, classes], labels int64 [samples] or [samples, 1]
  scores,   ///< the same, or one output per sample with labels 0 and 1, or outputs and labels [samples, labels]
  labels,   ///< outputs and labels [samples, labels], labels 0 and 1
  tokens,   ///< outputs [samples, positions, classes], labels int64 [samples, positions]; or as classes
  numbers,  ///< outputs and labels of the same shape
  texts,    ///< what choices:FILE and pairs of texts have as labels
  spans,    ///< start_logits and end_logits, of questions (squad_spans.hpp)
};

/// One row of the table.
struct metric_kind {
  /// A K at the end stands for a number from 1 to limits::metric_classes_max.
  std::string_view name;
  metric_task task;
  /// One line for --help and docs/metrics.md (a test compares them).
  std::string_view help;
  expected<metric_ptr> (*make)(const metric_request&);
  /// Names of its options (metric_settings_known), with spaces between them.
  std::string_view options = {};
  /// Whether it may have a confidence interval; it then has the options of one, too.
  bool has_interval = true;
};

// Formulas and fields: docs/metrics.md.
expected<metric_ptr> make_top_k(const metric_request& asked);
expected<metric_ptr> make_balanced_accuracy(const metric_request& asked);
expected<metric_ptr> make_per_class_accuracy(const metric_request& asked);
expected<metric_ptr> make_confusion_matrix(const metric_request& asked);
expected<metric_ptr> make_precision(const metric_request& asked);
expected<metric_ptr> make_recall(const metric_request& asked);
expected<metric_ptr> make_fbeta(const metric_request& asked);
expected<metric_ptr> make_specificity(const metric_request& asked);
expected<metric_ptr> make_matthews(const metric_request& asked);
expected<metric_ptr> make_cohen_kappa(const metric_request& asked);
expected<metric_ptr> make_cross_entropy(const metric_request& asked);
expected<metric_ptr> make_nll(const metric_request& asked);
expected<metric_ptr> make_auroc(const metric_request& asked);
expected<metric_ptr> make_average_precision(const metric_request& asked);
expected<metric_ptr> make_log_loss(const metric_request& asked);
expected<metric_ptr> make_brier(const metric_request& asked);
expected<metric_ptr> make_calibration_error(const metric_request& asked);
expected<metric_ptr> make_label_matches(const metric_request& asked);
expected<metric_ptr> make_perplexity(const metric_request& asked);
expected<metric_ptr> make_token_accuracy(const metric_request& asked);
expected<metric_ptr> make_bits_per_byte(const metric_request& asked);
expected<metric_ptr> make_mae(const metric_request& asked);
expected<metric_ptr> make_mse(const metric_request& asked);
expected<metric_ptr> make_rmse(const metric_request& asked);
expected<metric_ptr> make_r2(const metric_request& asked);
expected<metric_ptr> make_pearson(const metric_request& asked);
expected<metric_ptr> make_spearman(const metric_request& asked);
expected<metric_ptr> make_squad_spans(const metric_request& asked);
expected<metric_ptr> make_multiple_choice(const metric_request& asked);
expected<metric_ptr> make_sentence_similarity(const metric_request& asked);

/// All metrics by name. A new one has its row here, its function above and a source file of its own.
inline constexpr std::array metric_kinds = {
    metric_kind{"accuracy", metric_task::classes, "share of samples whose label is the predicted class", make_top_k,
                "ignore_index threshold"},
    metric_kind{"topK", metric_task::classes, "share of samples whose label is among the first K classes", make_top_k,
                "ignore_index"},
    metric_kind{"per_class_accuracy", metric_task::classes, "accuracy over the samples of each label",
                make_per_class_accuracy, "ignore_index threshold", false},
    metric_kind{"balanced_accuracy", metric_task::classes, "mean of the accuracies of the classes that have samples",
                make_balanced_accuracy, "ignore_index threshold"},
    metric_kind{"confusion_matrix", metric_task::classes, "how often each label was taken for each class",
                make_confusion_matrix, "ignore_index threshold", false},
    metric_kind{"precision", metric_task::classes, "share of right ones among the predictions of a class",
                make_precision, "average ignore_index threshold"},
    metric_kind{"recall", metric_task::classes, "share of right predictions among the samples of a class", make_recall,
                "average ignore_index threshold"},
    metric_kind{"f1", metric_task::classes, "F1 score: macro, micro and per class", make_fbeta,
                "average ignore_index threshold"},
    metric_kind{"fbeta", metric_task::classes, "F-beta score, which weighs recall `beta` times as much as precision",
                make_fbeta, "average beta ignore_index threshold"},
    metric_kind{"specificity", metric_task::classes, "share of samples of other classes that are not taken for a class",
                make_specificity, "average ignore_index threshold"},
    metric_kind{"matthews", metric_task::classes, "Matthews correlation of labels and predictions", make_matthews,
                "ignore_index threshold"},
    metric_kind{"cohen_kappa", metric_task::classes, "Cohen's kappa of labels and predictions", make_cohen_kappa,
                "weights ignore_index threshold"},
    metric_kind{"cross_entropy", metric_task::classes, "mean cross-entropy of logits", make_cross_entropy,
                "ignore_index label_smoothing weight"},
    metric_kind{"nll", metric_task::classes, "mean negative log-likelihood, of log-probabilities", make_nll,
                "ignore_index weight"},
    metric_kind{"auroc", metric_task::scores, "area under the receiver operating characteristic", make_auroc,
                "average from bins labels"},
    metric_kind{"average_precision", metric_task::scores, "area under the steps of precision over recall",
                make_average_precision, "average from bins labels"},
    metric_kind{"mean_average_precision", metric_task::labels, "mean of the average precisions of several labels",
                make_average_precision, "from bins labels"},
    metric_kind{"log_loss", metric_task::scores, "mean negative log of the probability of the right class",
                make_log_loss, "from"},
    metric_kind{"brier", metric_task::scores, "mean squared error of probabilities", make_brier, "from"},
    metric_kind{"calibration_error", metric_task::scores, "how far confidence is from accuracy, mean and greatest",
                make_calibration_error, "from bins"},
    metric_kind{"subset_accuracy", metric_task::labels, "share of samples whose labels are all predicted right",
                make_label_matches, "threshold"},
    metric_kind{"multilabel_accuracy", metric_task::labels, "share of labels that are predicted right",
                make_label_matches, "threshold"},
    metric_kind{"hamming_loss", metric_task::labels, "share of labels that are predicted wrong", make_label_matches,
                "threshold"},
    metric_kind{"perplexity", metric_task::tokens, "exponential of the mean cross-entropy of tokens", make_perplexity,
                "ignore_index shift"},
    metric_kind{"token_accuracy", metric_task::tokens, "share of tokens whose label is the predicted one",
                make_token_accuracy, "ignore_index shift"},
    metric_kind{"bits_per_byte", metric_task::tokens, "cross-entropy of tokens in bits, per byte of the text",
                make_bits_per_byte, "ignore_index bytes shift"},
    metric_kind{"mae", metric_task::numbers, "mean absolute error, for regression", make_mae},
    metric_kind{"mse", metric_task::numbers, "mean squared error, for regression", make_mse},
    metric_kind{"rmse", metric_task::numbers, "root of the mean squared error", make_rmse},
    metric_kind{"r2", metric_task::numbers, "coefficient of determination", make_r2},
    metric_kind{"pearson", metric_task::numbers, "correlation of outputs and labels", make_pearson},
    metric_kind{"spearman", metric_task::numbers, "correlation of the ranks of outputs and labels", make_spearman},
    metric_kind{"squad", metric_task::spans, "exact match and F1 of answers, by the rules of SQuAD", make_squad_spans,
                "", false},
    metric_kind{"multiple_choice", metric_task::texts, "share of questions whose most likely choice is right",
                make_multiple_choice, "", false},
    metric_kind{"sentence_similarity", metric_task::texts, "correlation of cosines of pairs of sentences with scores",
                make_sentence_similarity, "", false},
};

/// "accuracy, topK, nll": the names of the table.
std::string metric_list();
/// The same of one task alone.
std::string metric_list(metric_task task);

/// The same metric in one spelling: options in the order of the table, numbers in their shortest form. A name that
/// makes no metric is given back as it is.
std::string canonical_metric_name(const std::string& name);

/// For metrics that count per class: E0103 where the labels are no classes, or are more than `classes_max`.
expected<void> check_class_state(const metric_request& asked, std::uint32_t classes_max = limits::metric_classes_max);
/// total[i] += part[i]
void merge_counts(std::span<std::uint64_t> total, std::span<const std::uint64_t> part);

}  // namespace troupe
