#pragma once

#include "messages/activation.hpp"
#include <troupe/error.hpp>
#include <troupe/metric.hpp>

namespace troupe {

/// What a stage gave for `input`, with the labels of `input`. Its places name no micro-batch.
[[nodiscard]] scored_part part_of(const payload_ptr& outputs, const activation& input, const scored_names& names);

}  // namespace troupe
