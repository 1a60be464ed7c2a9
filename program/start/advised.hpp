#pragma once

#include "program/topology/checked_run.hpp"
#include <troupe/data_set.hpp>
#include <troupe/error.hpp>

namespace troupe {

/// `found` with the fix that the data have for it (data_set::advice): in place of that of a metric which does not fit
/// them or counts per class where there are none, and before that of a model which does not take inputs without labels.
[[nodiscard]] error advised(error found, const checked_run& run, const data_set& data);

}  // namespace troupe
