#pragma once

#include "program/start/prepared_run.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// Returns in a driver. A process that was started as a worker of this run becomes one, and the process that tries the
/// run out (probe_environment.hpp) does so, reports to its driver and ends: neither comes back. `loss`: of eval_batch.
void serve_if_asked(const run_request& request, const process_context& process, const loss_function& loss = {});

}  // namespace troupe
