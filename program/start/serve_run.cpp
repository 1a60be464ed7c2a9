#include "program/start/serve_run.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <utility>

#include "actors/workers/worker_actor.hpp"
#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "program/start/journal_pins.hpp"
#include "program/start/topology_start.hpp"
#include "program/start/topology_worker.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/os/cpu_quota.hpp"
#include "runtime/process/probe_environment.hpp"

namespace troupe {
namespace {

expected<probe_report> probe(const run_request& request, const process_context& process, const probe_note& note) try {
  auto run = TROUPE_TRY(checked_run::make(request.what, request.options, process));
  run.options.threads = threads_of(run.what, run.options, cores_to_use());
  if (run.parts().is_open()) return probe_topology(run, 0, request.first, note);
  const auto data = TROUPE_TRY(open_choice(*run.parts().data));
  const auto first = TROUPE_TRY(first_block(*data, run.options));
  return probe_topology(run, data->classes(), first, note);
} catch (...) {
  return fail(error_code::internal, "try-out", current_exception_text(), "report this with the model");
}

[[noreturn]] void serve_probe(const run_request& request, const process_context& process) {
  keep_freed_memory();
  const probe_file file(unique_fd{probe_report_number});
  const auto report = probe(request, process, [&](const std::string& place) { file.note(place); });
  if (auto written = file.write(report); !written) {
    // What a report cannot say for its size, a short one can.
    const expected<probe_report> shorter = tl::make_unexpected(written.error());
    if (!file.write(shorter)) end_worker(written.error());
  }
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(0);
}

}  // namespace

void serve_if_asked(const run_request& request, const process_context& process, const loss_function& loss) {
  if (process.worker) serve_topology(request.what, request.options, process, loss);
  if (process.is_probe) serve_probe(request, process);
}

}  // namespace troupe
