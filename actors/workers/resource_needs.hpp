#pragma once

#include <cstdint>
#include <functional>

#include "runtime/os/resource_check.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include <troupe/ids.hpp>

namespace troupe {

struct worker_description;
struct transport_row;

/// What says how much room a run takes.
struct needs_options {
  /// Intra-op threads of a stage that has the most.
  std::uint32_t threads = 1;
  /// Threads that read the data beside the loader's.
  std::uint32_t data_workers = 0;
  /// Which stages are in workers; null: none.
  std::function<bool(stage_address)> is_remote = nullptr;
  /// The row of the edges to workers (between_processes()); it has no effect where no stage is in one.
  const transport_row* edges = nullptr;
};

/// The most that the process of a run holds at the same time, from the first look at the model on, and what its workers
/// hold. Upper bounds: CAF and OpenMP, which end the process or hang for want of a thread, are never refused one.
[[nodiscard]] resource_needs needs_of_run(const wiring_plan& plan, const needs_options& options);

/// Room of a worker: before it has a stage, when it is about to take one, and when a spare is about to prepare.
[[nodiscard]] resource_needs needs_of_worker(const worker_description& description);
[[nodiscard]] resource_needs needs_of_stage(std::uint32_t threads);
[[nodiscard]] resource_needs needs_of_preparing();

/// Room of a command that runs kernels in its own thread and, with `threads`, in one more, and starts nothing.
[[nodiscard]] resource_needs needs_of_command(const char* name, std::uint32_t threads = 1);

}  // namespace troupe
