#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

/// A user's loss of one micro-batch. `outputs`: the last stage's only tensor; `labels`: the only tensor of labels; both
/// on the CPU, with the samples as dimension 0. Both are shared: the function must not change them in place.
/// Returns the loss as tensors of one element each: one for an ordinary loss, several for a loss function that returns
/// a tuple; the same number for every micro-batch. Each is stored as a double.
/// eval_batch_options::reduce_output says how micro-batches are combined.
/// After the death of a stage the function is called again for micro-batches that are sent again, so the same inputs
/// must give the same bits. Thread: the last stage's replicas share one function object and call it concurrently,
/// without gradients; in a worker process its own.
/// Errors, which end the call of eval_batch() with E0603: an exception, no tensor, a tensor of more or fewer elements
/// than one, another number of tensors than before, no labels or several tensors of them.
using loss_function = std::function<std::vector<at::Tensor>(const at::Tensor& outputs, const at::Tensor& labels)>;

}  // namespace troupe
