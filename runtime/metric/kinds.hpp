#pragma once

#include <cstdint>

#include "runtime/metric/metric.hpp"

namespace troupe {

/// One function per kind; formulas and fields: docs/metrics.md. Sizes were checked by make_metric.

/// "accuracy" for k = 1, "top<k>" else: samples whose label ranks among the first k.
metric_ptr make_top_k(std::string name, std::int64_t k);
metric_ptr make_per_class_accuracy(std::uint32_t classes);
metric_ptr make_confusion_matrix(std::uint32_t classes);
/// Of logits.
metric_ptr make_cross_entropy();
/// Of log-probabilities.
metric_ptr make_nll();

}  // namespace troupe
