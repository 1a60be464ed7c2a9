#pragma once

#include "runtime/launch/scheduler.hpp"
#include "runtime/launch/variable_reader.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The part of find_scheduler for a process with SLURM_JOB_ID.
expected<scheduler_place> read_slurm(const variable_reader& variables);

}  // namespace troupe
