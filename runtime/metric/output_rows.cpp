#include "runtime/metric/output_rows.hpp"

#include <sstream>

#include "runtime/metric/metric_table.hpp"

namespace troupe {

std::string described(const at::Tensor& tensor) {
  if (!tensor.defined()) return "nothing";
  std::ostringstream text;
  text << c10::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  if (!tensor.device().is_cpu()) text << " on " << tensor.device();
  if (tensor.layout() != at::kStrided) text << ' ' << tensor.layout();
  return text.str();
}

bool is_on_cpu(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cpu() && tensor.layout() == at::kStrided && !tensor.is_neg();
}

bool is_column(const at::Tensor& tensor) {
  return tensor.dim() == 1 || (tensor.dim() == 2 && tensor.size(1) == 1);
}

bool is_real(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  return type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
}

namespace {

bool is_number(const at::Tensor& tensor) {
  return is_real(tensor) || tensor.scalar_type() == at::kLong;
}

/// [N] and [N, 1] are the same numbers.
bool same_shape(at::IntArrayRef a, at::IntArrayRef b) {
  if (a.size() == b.size() + 1 && a.back() == 1) a = a.slice(0, b.size());
  if (b.size() == a.size() + 1 && b.back() == 1) b = b.slice(0, a.size());
  return a == b;
}

bool are_numbers(const at::Tensor& outputs, const at::Tensor& labels) {
  return is_on_cpu(outputs) && is_on_cpu(labels) && outputs.dim() > 0 && labels.dim() > 0 && outputs.numel() > 0 &&
         is_real(outputs) && is_number(labels) && same_shape(outputs.sizes(), labels.sizes());
}

/// Labels of 0 and 1, where some sample has none or several.
bool are_several_labels(const at::Tensor& outputs, const at::Tensor& labels) {
  if (!is_number(labels) || outputs.sizes() != labels.sizes()) return false;
  const bool are_flags = labels.eq(0).logical_or(labels.eq(1)).all().item<bool>();
  return are_flags && !labels.sum(1).eq(1).all().item<bool>();
}

/// What to do about labels that are no int64 [N] or [N, 1], while the outputs are class scores; empty where the outputs
/// are to blame.
std::string fix_of_labels(const at::Tensor& outputs, const at::Tensor& labels) {
  if (!is_on_cpu(labels) || !is_on_cpu(outputs) || outputs.dim() != 2 || outputs.size(1) < 2) return {};
  if (labels.dim() == 2 && labels.size(1) > 1) {
    if (are_several_labels(outputs, labels)) {
      return "for samples with several labels use one of: auroc, average_precision, log_loss, " +
             metric_list(metric_task::labels);
    }
    const bool is_regression = are_numbers(outputs, labels) && is_real(labels);
    return "give the class of each sample; of one-hot labels it is labels.argmax(1)" +
           (is_regression ? "; for regression use one of: " + metric_list(metric_task::numbers) +
                                "; for several labels of 0 and 1: auroc, " + metric_list(metric_task::labels)
                          : std::string());
  }
  const bool is_whole = at::isIntegralType(labels.scalar_type(), /*includeBool=*/true);
  if (is_whole && is_column(labels)) return "store the labels as int64: labels.to(at::kLong)";
  if (is_whole && labels.numel() == outputs.size(0)) return "give labels of one dimension: labels.reshape(-1)";
  return {};
}

std::string fix_of_classes(const at::Tensor& outputs, const at::Tensor& labels) {
  if (std::string fix = fix_of_labels(outputs, labels); !fix.empty()) return fix;
  if (are_numbers(outputs, labels)) return "for regression use one of: " + metric_list(metric_task::numbers);
  if (is_on_cpu(labels) && is_real(labels)) {
    return "store class labels as integers, or for regression use one of: " + metric_list(metric_task::numbers);
  }
  return "use a model that gives each sample one row of class scores, or write a metric of your own";
}

std::string fix_of_numbers(const at::Tensor& outputs, const at::Tensor& labels) {
  if (is_on_cpu(labels) && labels.scalar_type() == at::kLong && is_on_cpu(outputs) && outputs.dim() == 2) {
    return "for labels that are classes use one of: " + metric_list(metric_task::classes);
  }
  return "give labels of the shape of the outputs, or write a metric of your own";
}

tl::unexpected<error> wrong_label(const std::string& metric, std::int64_t sample, std::int64_t label,
                                  std::int64_t classes, const char* of_whom) {
  return fail(error_code::metric_failed, metric + ", sample " + std::to_string(sample) + " of the micro-batch",
              "expected a label from 0 to " + std::to_string(classes - 1) + ", as " + of_whom + " has " +
                  std::to_string(classes) + " classes, found " + std::to_string(label),
              "check that model and data belong together");
}

}  // namespace

expected<void> check_outputs(const std::string& metric, const at::Tensor& outputs, const at::Tensor& labels,
                             std::optional<std::int64_t> ignored) {
  if (!is_on_cpu(outputs) || outputs.dim() != 2 || outputs.numel() == 0 || !is_real(outputs)) {
    return fail(error_code::metric_failed, metric,
                "expected outputs [samples, classes] of real numbers on the CPU, found " + described(outputs),
                fix_of_classes(outputs, labels));
  }
  if (!is_on_cpu(labels) || !is_column(labels) || labels.scalar_type() != at::kLong) {
    return fail(error_code::metric_failed, metric,
                "expected labels [samples] of type Long on the CPU, found " + described(labels),
                fix_of_classes(outputs, labels));
  }
  if (outputs.size(0) != labels.size(0)) {
    return fail(error_code::metric_failed, metric,
                std::to_string(outputs.size(0)) + " outputs for " + std::to_string(labels.size(0)) + " labels",
                "use a model that keeps dimension 0, the samples");
  }
  const label_column column = labels_of(labels);
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    const std::int64_t label = column.at(i);
    if (label == ignored) continue;
    if (label < 0 || label >= outputs.size(1)) return wrong_label(metric, i, label, outputs.size(1), "the model");
  }
  return {};
}

expected<void> check_numbers(const std::string& metric, const at::Tensor& outputs, const at::Tensor& labels) {
  if (are_numbers(outputs, labels)) return {};
  return fail(error_code::metric_failed, metric,
              "expected outputs of real numbers and labels of the same shape on the CPU, found outputs " +
                  described(outputs) + " and labels " + described(labels),
              fix_of_numbers(outputs, labels));
}

expected<void> check_known_classes(const std::string& metric, const at::Tensor& labels, std::size_t classes,
                                   std::optional<std::int64_t> ignored) {
  const label_column column = labels_of(labels);
  const auto limit = static_cast<std::int64_t>(classes);
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    if (column.at(i) >= limit && column.at(i) != ignored)
      return wrong_label(metric, i, column.at(i), limit, "the data");
  }
  return {};
}

}  // namespace troupe
