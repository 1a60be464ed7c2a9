#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>

namespace troupe {

/// Which dimension of `output` has one value per class. Null `label`: the data have none.
///   output [N, C], C of 2 or more, and labels int64 [N] or [N, 1], or none: 1
///   output [N, ..., C] and labels int64 [N, ...]: the last
///   output [N, C, ...] and labels int64 [N, ...]: 1
///   anything else: none, and the output itself is the prediction
[[nodiscard]] std::optional<std::int64_t> class_dimension(const at::Tensor& output, const at::Tensor* label);

/// What the model says of each sample, contiguous: int64, the predicted class as metrics have it (docs/metrics.md),
/// where there is a class dimension, which the result lacks; else `output`.
[[nodiscard]] at::Tensor predictions_of(const at::Tensor& output, const at::Tensor* label);

/// The softmax over the class dimension, computed in double, in float32, contiguous, with the classes as the last
/// dimension. A row with NaN or +infinity is NaN. E0603 where there is no class dimension.
[[nodiscard]] expected<at::Tensor> probabilities_of(const at::Tensor& output, const at::Tensor* label);

}  // namespace troupe
