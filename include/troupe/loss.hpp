#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

/// A user's loss: takes outputs of the last stage and labels of one micro-batch; gives its parts, each a scalar tensor
/// (one for an ordinary loss, several for a tuple loss). The threads of the last stage's replicas call it, several at a
/// time. An exception fails the call with E0603.
using loss_function = std::function<std::vector<at::Tensor>(const at::Tensor& outputs, const at::Tensor& labels)>;

}  // namespace troupe
