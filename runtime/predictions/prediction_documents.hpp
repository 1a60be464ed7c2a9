#pragma once

#include <memory>
#include <string>

#include "runtime/predictions/prediction_output.hpp"
#include <troupe/error.hpp>
#include <troupe/metric.hpp>

namespace troupe {

/// The predictions of a task in FILE.json, by a metric that has some (metric::has_predictions), and files beside it:
/// FILE.nbest.json. Each takes the place of an old one when it is whole.
class prediction_documents {
 public:
  /// E0611 where `file` cannot be written.
  [[nodiscard]] static expected<std::shared_ptr<prediction_documents>> open(std::string file, metric_ptr metric,
                                                                            bool with_candidates);

  [[nodiscard]] const metric_ptr& source() const noexcept { return metric_; }
  /// Once. E0611; E0603 where the metric throws.
  [[nodiscard]] expected<void> write(const metric_total& total);

 private:
  prediction_documents(std::string file, metric_ptr metric, bool with_candidates);

  std::string file_;
  metric_ptr metric_;
  bool with_candidates_;
  prediction_output main_;
};

}  // namespace troupe
