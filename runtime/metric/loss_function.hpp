#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

/// A user's loss: outputs of the last stage and labels of one micro-batch -> its parts, each a scalar tensor (one for
/// an ordinary loss, several for a tuple loss). Called from the threads of the last stage's replicas, several at a
/// time; may throw: the call then fails with E0603.
using loss_function = std::function<std::vector<at::Tensor>(const at::Tensor& outputs, const at::Tensor& labels)>;

}  // namespace troupe
