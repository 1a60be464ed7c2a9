#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

/// A user's loss of one micro-batch. `outputs`: the last stage's only tensor; `labels`: the only tensor of labels; both
/// on the CPU, with the samples as dimension 0. Returns the loss as tensors of one element each: one for an ordinary
/// loss, several for a loss function that returns a tuple. Each is stored as a double.
/// eval_batch_options::reduce_output says how micro-batches are combined. Thread: the last stage's replicas share one
/// function object and call it concurrently, without gradients; in a worker process its own. Errors: an exception, no
/// tensor, or a tensor of another size ends the call of eval_batch() with E0603.
using loss_function = std::function<std::vector<at::Tensor>(const at::Tensor& outputs, const at::Tensor& labels)>;

}  // namespace troupe
