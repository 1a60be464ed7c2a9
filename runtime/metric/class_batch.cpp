#include "runtime/metric/class_batch.hpp"

#include "messages/try.hpp"

namespace troupe {

namespace {

/// One output per sample, for labels 0 and 1.
bool has_one_output(const at::Tensor& outputs, const at::Tensor& labels) {
  return is_on_cpu(outputs) && is_on_cpu(labels) && is_column(outputs) && is_real(outputs) && is_column(labels) &&
         labels.scalar_type() == at::kLong && outputs.numel() > 0 && outputs.size(0) == labels.size(0);
}

expected<void> check_two_classes(const std::string& metric, const class_batch& batch) {
  const label_column column = labels_of(batch.labels);
  for (std::int64_t i = 0; i < batch.labels.size(0); ++i) {
    const std::int64_t label = column.at(i);
    if (label == 0 || label == 1 || label == batch.rules.ignored) continue;
    return fail(error_code::metric_failed, metric + ", sample " + std::to_string(i) + " of the micro-batch",
                "expected a label of 0 or 1, as the model has one output per sample, found " + std::to_string(label),
                "check that model and data belong together");
  }
  return {};
}

}  // namespace

expected<class_batch> class_batch::open(const std::string& metric, const scored_part& part, const class_rules& rules) {
  class_batch made;
  made.outputs = *TROUPE_TRY(part.output());
  made.labels = *TROUPE_TRY(part.label());
  made.rules = rules;
  if (rules.takes_one_output && has_one_output(made.outputs, made.labels)) {
    made.is_binary = true;
    TROUPE_TRY(check_two_classes(metric, made));
    if (rules.threshold) return made;
    return fail(error_code::metric_failed, metric,
                "the model has one output per sample, and nothing says above which value it means class 1",
                "write " + metric + ":threshold=0 for logits, " + metric + ":threshold=0.5 for probabilities");
  }
  TROUPE_TRY(check_outputs(metric, made.outputs, made.labels, rules.ignored));
  if (rules.known_classes > 0) {
    TROUPE_TRY(check_known_classes(metric, made.labels, rules.known_classes, rules.ignored));
  }
  return made;
}

}  // namespace troupe
