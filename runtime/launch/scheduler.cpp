#include "runtime/launch/scheduler.hpp"

#include "messages/limits.hpp"
#include "runtime/launch/ranked_launchers.hpp"
#include "runtime/launch/slurm.hpp"
#include "runtime/launch/variable_reader.hpp"

namespace troupe {
namespace {

constexpr std::string_view slurm_job = "SLURM_JOB_ID";
constexpr std::string_view completion_index = "JOB_COMPLETION_INDEX";

expected<scheduler_place> read_kubernetes(const variable_reader& variables) {
  return variables.required(completion_index, 0, limits::launch_nodes_max - 1).map([](std::uint32_t index) {
    scheduler_place place;
    place.kind = scheduler_kind::kubernetes;
    place.node_rank = index;
    place.local_rank = 0;
    place.is_on_every_node = true;
    return place;
  });
}

}  // namespace

std::string_view name_of(scheduler_kind kind) noexcept {
  switch (kind) {
    case scheduler_kind::none:
      return "no scheduler";
    case scheduler_kind::torchrun:
      return "torchrun";
    case scheduler_kind::open_mpi:
      return "Open MPI";
    case scheduler_kind::slurm:
      return "Slurm";
    case scheduler_kind::kubernetes:
      return "Kubernetes";
  }
  return "an unknown scheduler";
}

expected<scheduler_place> find_scheduler(const environment_lookup& lookup) {
  struct launcher {
    std::string_view marker;
    scheduler_kind kind;
    expected<scheduler_place> (*read)(const variable_reader&);
  };
  constexpr launcher launchers[] = {{group_rank, scheduler_kind::torchrun, read_torchrun},
                                    {mpi_rank, scheduler_kind::open_mpi, read_open_mpi},
                                    {slurm_job, scheduler_kind::slurm, read_slurm},
                                    {pmix_rank, scheduler_kind::open_mpi, read_open_mpi},
                                    {completion_index, scheduler_kind::kubernetes, read_kubernetes}};
  for (const launcher& candidate : launchers) {
    const variable_reader variables(lookup, name_of(candidate.kind), candidate.marker);
    if (variables.text(candidate.marker)) return candidate.read(variables);
  }
  return scheduler_place{};
}

}  // namespace troupe
