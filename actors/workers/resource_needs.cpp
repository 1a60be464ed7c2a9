#include "actors/workers/resource_needs.hpp"

#include <algorithm>
#include <cstdlib>

#include "actors/workers/serve_worker.hpp"
#include "messages/limits.hpp"
#include "runtime/os/cores.hpp"

namespace troupe {
namespace {

/// CAF's worker, its clock, and the actor that prints.
constexpr std::uint32_t caf_threads = 3;
constexpr std::uint32_t link_threads = 1;
constexpr std::uint32_t process_host_threads = 1;
/// One starts the run and ends before the journal's begins; one reads the data; one to spare.
constexpr std::uint32_t helper_threads = 3;
/// A worker's: prepares while it is a spare.
constexpr std::uint32_t preparing_threads = 1;

/// A model, data, a journal, a result.
constexpr std::size_t files_open = 4;
/// The host's bell, CAF's own, and what starting one worker takes for a moment.
constexpr std::size_t driver_files = 34;
/// A pidfd, two pipes, a channel, a connection, a page, and a channel of one that died before it.
constexpr std::size_t files_per_worker = 7;
/// CAF's own, the connection to the driver, and descriptors that wait to be taken.
constexpr std::size_t worker_files = 10;

/// What OpenMP makes for the first kernel of a thread that has not said how many it wants.
std::uint32_t default_team() {
  const char* const asked = std::getenv("OMP_NUM_THREADS");
  const long number = asked == nullptr ? 0 : std::strtol(asked, nullptr, 10);
  return static_cast<std::uint32_t>(std::clamp(number, long{usable_cores()}, long{limits::threads_max}));
}

std::uint32_t largest_team(std::uint32_t threads) {
  return std::max(default_team(), threads);
}

/// The thread that makes a stage, and then the stage's own, each with its team: the first may be counted a moment
/// longer.
std::uint32_t stage_threads(std::uint32_t threads) {
  return default_team() + threads;
}

std::uint32_t idle_worker_threads(const transport_row& edges) {
  return caf_threads + link_threads + preparing_threads + edges.threads;
}

/// Edges with one end at `instance`.
std::size_t edges_of(const wired_instance& instance) {
  return instance.inbound.size() + instance.outbound.size();
}

}  // namespace

resource_needs needs_of_run(const wiring_plan& plan, const needs_options& options) {
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
  std::size_t local_edges = 0;
  for (const wired_instance& each : plan.instances) {
    const bool is_source = plan.nodes[each.address.stage].kind == node_kind::source;
    const bool is_remote = !is_source && options.is_remote && options.is_remote(each.address);
    if (is_remote) {
      ++remote;
      continue;
    }
    local += is_source ? 0 : 1;
    local_edges += edges_of(each);
  }
  // The caller's thread and the one that starts the run have a team each.
  const std::uint32_t teams = default_team() - 1 + largest_team(options.threads) - 1;
  resource_needs needed{
      .where = "run",
      .threads = helper_threads + caf_threads + options.data_workers + teams + local * options.threads,
      .descriptors = files_open,
      .address_bytes = limits::checked_address_bytes};
  if (remote == 0) return needed;
  const std::uint32_t idle = 1 + idle_worker_threads(*options.edges);
  needed.threads += link_threads + process_host_threads + options.edges->threads;
  needed.threads_elsewhere =
      remote * (idle + stage_threads(options.threads)) + limits::worker_spares * (idle + default_team() - 1);
  needed.descriptors += driver_files + files_per_worker * (remote + limits::worker_spares) +
                        options.edges->files_per_edge * local_edges + options.edges->files;
  return needed;
}

resource_needs needs_of_worker(const worker_description& description) {
  std::size_t edges = 0;
  for (const wired_instance& each : description.plan.instances) edges = std::max(edges, edges_of(each));
  return {.where = "worker",
          .threads = idle_worker_threads(*description.edges),
          .descriptors = worker_files + description.edges->files_per_edge * edges + description.edges->files,
          .address_bytes = limits::checked_address_bytes};
}

resource_needs needs_of_stage(std::uint32_t threads) {
  return {.where = "worker", .threads = stage_threads(threads)};
}

resource_needs needs_of_preparing() {
  return {.where = "spare worker", .threads = default_team() - 1};
}

resource_needs needs_of_command(const char* name, std::uint32_t threads) {
  return {.where = name,
          .threads = default_team() - 1 + largest_team(threads),
          .descriptors = files_open,
          .address_bytes = limits::checked_address_bytes};
}

}  // namespace troupe
