#include "runtime/metric/output_rows.hpp"

#include <sstream>

namespace troupe {

namespace {

constexpr const char* choose_another = "choose metrics that belong to the model's task";

std::string described(const at::Tensor& tensor) {
  if (!tensor.defined()) return "nothing";
  std::ostringstream text;
  text << c10::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  if (!tensor.device().is_cpu()) text << " on " << tensor.device();
  if (tensor.layout() != at::kStrided) text << ' ' << tensor.layout();
  return text.str();
}

bool plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cpu() && tensor.layout() == at::kStrided && !tensor.is_neg();
}

bool real(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
}

tl::unexpected<error> wrong_label(const std::string& metric, std::int64_t sample, std::int64_t label,
                                  std::int64_t classes, const char* of_whom) {
  return fail(error_code::metric_failed, metric + ", sample " + std::to_string(sample) + " of the micro-batch",
              "expected a label from 0 to " + std::to_string(classes - 1) + ", as " + of_whom + " has " +
                  std::to_string(classes) + " classes, found " + std::to_string(label),
              "check that model and data belong together");
}

}  // namespace

expected<void> check_outputs(const std::string& metric, const at::Tensor& outputs, const at::Tensor& labels) {
  if (!plain(outputs) || outputs.dim() != 2 || outputs.numel() == 0 || !real(outputs.scalar_type())) {
    return fail(error_code::metric_failed, metric,
                "expected outputs [samples, classes] of real numbers on the CPU, found " + described(outputs),
                choose_another);
  }
  if (!plain(labels) || labels.dim() != 1 || labels.scalar_type() != at::kLong) {
    return fail(error_code::metric_failed, metric,
                "expected labels [samples] of type Long on the CPU, found " + described(labels), choose_another);
  }
  if (outputs.size(0) != labels.size(0)) {
    return fail(error_code::metric_failed, metric,
                std::to_string(outputs.size(0)) + " outputs for " + std::to_string(labels.size(0)) + " labels",
                "use a model that keeps dimension 0, the samples");
  }
  const label_column column = labels_of(labels);
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    const std::int64_t label = column.at(i);
    if (label < 0 || label >= outputs.size(1)) return wrong_label(metric, i, label, outputs.size(1), "the model");
  }
  return {};
}

expected<void> check_known_classes(const std::string& metric, const at::Tensor& labels, std::size_t classes) {
  const label_column column = labels_of(labels);
  const auto limit = static_cast<std::int64_t>(classes);
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    if (column.at(i) >= limit) return wrong_label(metric, i, column.at(i), limit, "the data");
  }
  return {};
}

}  // namespace troupe
