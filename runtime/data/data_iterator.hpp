#pragma once

#include <functional>
#include <optional>

#include "runtime/data/data_set.hpp"

namespace troupe {

/// One micro-batch of a user's own data: inputs, and labels where a loss is wanted. The samples are dimension 0 of all
/// tensors; their number may differ from one micro-batch to the next.
using batch = sample_block;

/// A user's iterator: gives the next micro-batch, or nothing at the end. The loader's thread calls it while its call is
/// loading, and at no other time. An exception fails the call with E0604, which names the micro-batch.
using data_iterator = std::function<std::optional<batch>()>;
/// Applied to each batch of an iterator before it is sent (DeepSpeed's set_batch_fn).
using batch_function = std::function<batch(batch)>;

}  // namespace troupe
