#include "runtime/predictions/predicted_values.hpp"

#include <algorithm>
#include <vector>

#include <ATen/ops/empty.h>

#include "runtime/metric/output_rows.hpp"
#include "runtime/metric/scored_rows.hpp"

namespace troupe {
namespace {

/// The same sizes without dimension `removed`.
std::vector<std::int64_t> sizes_without(const at::Tensor& tensor, std::int64_t removed) {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.erase(sizes.begin() + removed);
  return sizes;
}

/// [rows, classes], contiguous.
at::Tensor class_rows(const at::Tensor& output, std::int64_t dimension) {
  const at::Tensor moved = output.movedim(dimension, -1).contiguous();
  const std::int64_t classes = moved.size(-1);
  return moved.view({classes == 0 ? 0 : moved.numel() / classes, classes});
}

}  // namespace

std::optional<std::int64_t> class_dimension(const at::Tensor& output, const at::Tensor* label) {
  if (!output.is_floating_point() || output.dim() < 2) return std::nullopt;
  if (label == nullptr) return output.dim() == 2 && output.size(1) > 1 ? std::optional<std::int64_t>(1) : std::nullopt;
  if (label->scalar_type() != at::kLong) return std::nullopt;
  const bool is_column = label->dim() == 1 || (label->dim() == 2 && label->size(1) == 1);
  if (output.dim() == 2) return is_column && output.size(1) > 1 ? std::optional<std::int64_t>(1) : std::nullopt;
  for (const std::int64_t dimension : {output.dim() - 1, std::int64_t{1}}) {
    if (label->sizes() == at::IntArrayRef(sizes_without(output, dimension))) return dimension;
  }
  return std::nullopt;
}

at::Tensor predictions_of(const at::Tensor& output, const at::Tensor* label) {
  const auto dimension = class_dimension(output, label);
  if (!dimension) return output.contiguous();
  at::Tensor made = at::empty(sizes_without(output, *dimension), at::kLong);
  auto* into = made.mutable_data_ptr<std::int64_t>();
  with_rows_of(class_rows(output, *dimension), [&](const auto& rows) {
    for (std::int64_t row = 0; row < rows.samples; ++row) into[row] = argmax(rows, row);
  });
  return made;
}

expected<at::Tensor> probabilities_of(const at::Tensor& output, const at::Tensor* label) {
  const auto dimension = class_dimension(output, label);
  if (!dimension) {
    return fail(error_code::metric_failed, "predictions",
                "outputs " + described(output) + " have no value per class, so there are no probabilities",
                "write outputs: --predictions-with outputs");
  }
  std::vector<std::int64_t> sizes = sizes_without(output, *dimension);
  sizes.push_back(output.size(*dimension));
  at::Tensor made = at::empty(sizes, at::kFloat);
  auto* into = made.mutable_data_ptr<float>();
  with_rows_of(class_rows(output, *dimension), [&](const auto& rows) {
    std::vector<double> one(static_cast<std::size_t>(rows.classes));
    for (std::int64_t row = 0; row < rows.samples; ++row) {
      for (std::int64_t j = 0; j < rows.classes; ++j) one[static_cast<std::size_t>(j)] = rows.at(row, j);
      make_probabilities(score_kind::classes, one);
      into = std::ranges::transform(one, into, [](double x) { return static_cast<float>(x); }).out;
    }
  });
  return made;
}

}  // namespace troupe
