#include "runtime/training/training_loss.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/nll_loss_nd.h>
#include <ATen/ops/tensor.h>

#include "messages/try.hpp"
#include "runtime/metric/output_rows.hpp"
#include "runtime/metric/scored_tensor.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

constexpr std::array<std::pair<loss_kind, std::string_view>, 5> kinds = {
    {{loss_kind::cross_entropy, "cross_entropy"},
     {loss_kind::nll, "nll"},
     {loss_kind::mse, "mse"},
     {loss_kind::l1, "l1"},
     {loss_kind::bce_with_logits, "bce_with_logits"}}};

std::string place_of_loss(loss_kind kind) {
  return "the loss " + std::string(name_of(kind));
}

/// The other kind of losses, where the labels are of that kind.
const char* advice_for(loss_kind kind, const at::Tensor& labels) {
  const bool is_of_classes = kind == loss_kind::cross_entropy || kind == loss_kind::nll;
  if (is_of_classes == !labels.is_floating_point())
    return "use a model and labels of these shapes, or a loss function in code";
  return is_of_classes ? "take a loss for numbers (--loss mse), or labels that are classes"
                       : "take a loss for classes (--loss cross_entropy), or labels that are numbers";
}

tl::unexpected<error> other_shapes(loss_kind kind, const std::string& wanted, const at::Tensor& outputs,
                                   const at::Tensor& labels) {
  return fail(error_code::metric_failed, place_of_loss(kind),
              "expected " + wanted + ", found outputs " + described(outputs) + " and labels " + described(labels),
              advice_for(kind, labels));
}

/// Rows of classes, and the label of each: a class, or a share for each class.
struct class_rows {
  at::Tensor scores;
  at::Tensor labels;
};

expected<class_rows> rows_of(const training_loss& loss, const at::Tensor& outputs, const at::Tensor& labels) {
  const bool has_classes = outputs.dim() >= 2 && outputs.is_floating_point();
  if (has_classes && labels.is_floating_point() && labels.sizes() == outputs.sizes() &&
      loss.kind == loss_kind::cross_entropy) {
    const std::int64_t classes = outputs.size(-1);
    return class_rows{outputs.reshape({-1, classes}), labels.reshape({-1, classes}).to(outputs.scalar_type())};
  }
  const bool is_whole = at::isIntegralType(labels.scalar_type(), false);
  if (has_classes && is_whole) {
    if (outputs.dim() == 2 && is_column(labels) && labels.size(0) == outputs.size(0))
      return class_rows{outputs, labels.reshape({-1}).to(at::kLong)};
    if (labels.sizes() == outputs.sizes().slice(0, static_cast<std::size_t>(outputs.dim()) - 1))
      return class_rows{outputs.reshape({-1, outputs.size(-1)}), labels.reshape({-1}).to(at::kLong)};
    if (labels.dim() + 1 == outputs.dim() && labels.size(0) == outputs.size(0) &&
        labels.sizes().slice(1) == outputs.sizes().slice(2))
      return class_rows{outputs, labels.to(at::kLong)};  // PyTorch's order: [N, classes, positions]
  }
  return other_shapes(
      loss.kind, "outputs [N, classes] and labels [N], or outputs [N, positions, classes] and labels [N, positions]",
      outputs, labels);
}

expected<void> check_classes(const training_loss& loss, const class_rows& rows) {
  const std::int64_t classes = rows.scores.size(1);
  if (!loss.class_weights.empty() && static_cast<std::int64_t>(loss.class_weights.size()) != classes) {
    return fail(error_code::metric_failed, place_of_loss(loss.kind),
                "it has " + std::to_string(loss.class_weights.size()) + " weights of classes, and the model has " +
                    std::to_string(classes) + " classes",
                "give one weight for each class");
  }
  if (rows.labels.is_floating_point()) return {};
  const at::Tensor odd =
      rows.labels.ne(loss.ignore_index).logical_and(rows.labels.lt(0).logical_or(rows.labels.ge(classes)));
  if (!odd.any().item<bool>()) return {};
  return fail(error_code::metric_failed, place_of_loss(loss.kind),
              "expected labels from 0 to " + std::to_string(classes - 1) + ", or " + std::to_string(loss.ignore_index) +
                  " for those that do not count, found " +
                  std::to_string(rows.labels.masked_select(odd)[0].item<std::int64_t>()),
              "correct the labels, or set ignore_index to the label that does not count");
}

/// What the mean divides by: the weights of the labels' classes.
double weight_of(const training_loss& loss, const class_rows& rows, const at::Tensor& class_weights) {
  if (rows.labels.is_floating_point()) return static_cast<double>(rows.labels.size(0));
  const at::Tensor counted = rows.labels.ne(loss.ignore_index);
  if (!class_weights.defined()) return static_cast<double>(counted.sum().item<std::int64_t>());
  const at::Tensor labels = rows.labels.masked_select(counted);
  return class_weights.to(at::kDouble).index_select(0, labels).sum().item<double>();
}

expected<loss_terms> loss_of_classes(const training_loss& loss, const at::Tensor& outputs, const at::Tensor& labels) {
  const class_rows rows = TROUPE_TRY(rows_of(loss, outputs, labels));
  TROUPE_TRY(check_classes(loss, rows));
  std::optional<at::Tensor> weights;
  if (!loss.class_weights.empty()) weights = at::tensor(loss.class_weights, outputs.options().requires_grad(false));
  const double weight = weight_of(loss, rows, weights.value_or(at::Tensor()));
  if (loss.kind == loss_kind::nll)
    return loss_terms{at::nll_loss_nd(rows.scores, rows.labels, weights, at::Reduction::Sum, loss.ignore_index),
                      weight};
  return loss_terms{at::cross_entropy_loss(rows.scores, rows.labels, weights, at::Reduction::Sum, loss.ignore_index,
                                           loss.label_smoothing),
                    weight};
}

expected<loss_terms> loss_of_elements(loss_kind kind, const at::Tensor& outputs, const at::Tensor& labels) {
  const bool fits =
      outputs.is_floating_point() && (outputs.sizes() == labels.sizes() ||
                                      (is_column(outputs) && is_column(labels) && outputs.size(0) == labels.size(0)));
  if (!fits) return other_shapes(kind, "outputs of a floating type, and labels of their shape", outputs, labels);
  const at::Tensor wanted = labels.to(outputs.scalar_type()).reshape(outputs.sizes());
  const auto weight = static_cast<double>(outputs.numel());
  switch (kind) {
    case loss_kind::mse:
      return loss_terms{at::mse_loss(outputs, wanted, at::Reduction::Sum), weight};
    case loss_kind::l1:
      return loss_terms{at::l1_loss(outputs, wanted, at::Reduction::Sum), weight};
    default:
      return loss_terms{at::binary_cross_entropy_with_logits(outputs, wanted, {}, {}, at::Reduction::Sum), weight};
  }
}

expected<loss_terms> loss_of_user(const training_loss& loss, const at::Tensor& outputs, const at::Tensor& labels) {
  loss_terms made = loss.function(outputs, labels);
  if (made.sum.defined() && made.sum.numel() == 1 && made.weight >= 0) return made;
  return fail(
      error_code::metric_failed, place_of_loss(loss.kind),
      made.sum.defined() && made.sum.numel() == 1 ? "its weight is below 0" : "its sum is not a tensor of one element",
      "return the sum over the samples as one element, and how many samples it has as the weight");
}

}  // namespace

expected<loss_terms> training_loss::of(const payload_ptr& outputs, const activation& input) const try {
  const scored_part part = part_of(outputs, input, names);
  const auto chosen = [&](expected<const at::Tensor*> found) {
    if (!found) found.error().where = place_of_loss(kind);
    return found;
  };
  const at::Tensor given = *TROUPE_TRY(chosen(part.output()));
  const at::Tensor labels = *TROUPE_TRY(chosen(part.label()));
  switch (kind) {
    case loss_kind::cross_entropy:
    case loss_kind::nll:
      return loss_of_classes(*this, given, labels);
    case loss_kind::custom:
      return loss_of_user(*this, given, labels);
    default:
      return loss_of_elements(kind, given, labels);
  }
} catch (const std::exception& caught) {
  return fail(error_code::forward_failed, place_of_loss(kind), libtorch_message(caught),
              "check the loss with such outputs and labels, outside of the pipeline");
}

expected<loss_kind> loss_kind_of(const std::string& name) {
  const auto found = std::ranges::find_if(kinds, [&](const auto& each) { return each.second == name; });
  if (found != kinds.end()) return found->first;
  std::string list;
  for (const std::string& each : loss_names()) list += (list.empty() ? "" : ", ") + each;
  return fail(error_code::unknown_name, "the loss \"" + name + "\"", "there is no loss of this name",
              "use one of " + list);
}

std::string_view name_of(loss_kind kind) {
  const auto* const found = std::ranges::find_if(kinds, [&](const auto& each) { return each.first == kind; });
  return found == kinds.end() ? "of the user" : found->second;
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const auto& each : kinds) names.emplace_back(each.second);
  return names;
}

training_loss_function loss_of_mean(loss_function mean) {
  return [mean = std::move(mean)](const at::Tensor& outputs, const at::Tensor& labels) {
    const std::vector<at::Tensor> made = mean(outputs, labels);
    TORCH_CHECK(made.size() == 1, "a loss that is trained is one tensor, and it returned ", made.size());
    const auto samples = outputs.dim() > 0 ? outputs.size(0) : 1;
    return loss_terms{made.front().mul(samples), static_cast<double>(samples)};
  };
}

std::optional<loss_numbers> take_loss(const payload_ptr& outputs) {
  if (outputs == nullptr) return std::nullopt;
  const tensor_set& given = as_tensors(outputs);
  const std::size_t count = given.tensors().size();
  if (count < 2 || given.stored_name(count - 2) != loss_sum_name || given.stored_name(count - 1) != loss_weight_name)
    return std::nullopt;
  std::vector<at::Tensor> tensors(given.tensors().begin(), given.tensors().end() - 2);
  std::vector<std::string> names;
  for (std::size_t at = 0; at + 2 < count; ++at) names.push_back(given.stored_name(at));
  return loss_numbers{.sum = given.tensors()[count - 2].item<double>(),
                      .weight = given.tensors()[count - 1].item<double>(),
                      .outputs = std::make_shared<const tensor_set>(std::move(tensors), std::move(names))};
}

}  // namespace troupe
