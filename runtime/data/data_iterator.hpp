#pragma once

#include <functional>
#include <optional>

#include "runtime/data/data_set.hpp"

namespace troupe {

/// One micro-batch of a user's own data: inputs, and labels where a loss is wanted. The samples are dimension 0 of all
/// tensors; their number may differ from one micro-batch to the next.
using batch = sample_block;

/// A user's iterator: the next micro-batch, or nothing at the end. Called from the loader's thread, only while a call
/// that was given it loads. May throw: the call then fails with E0604 and names the micro-batch.
using data_iterator = std::function<std::optional<batch>()>;
/// Applied to each batch of an iterator before it is sent (DeepSpeed's set_batch_fn).
using batch_function = std::function<batch(batch)>;

}  // namespace troupe
