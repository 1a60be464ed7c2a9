#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launch/hostfile.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The value of an environment variable; nothing where it is not set.
using environment_lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// What started this process on its node; the variable by which it is recognised stands behind each.
enum class scheduler_kind : std::uint8_t {
  none,
  torchrun,    ///< GROUP_RANK: RANK and WORLD_SIZE alone are set by hand in many scripts
  open_mpi,    ///< OMPI_COMM_WORLD_RANK; PMIX_RANK where there is no Slurm, whose srun sets it as well
  slurm,       ///< SLURM_JOB_ID
  kubernetes,  ///< JOB_COMPLETION_INDEX: a pod of an indexed job
};

/// "Slurm".
std::string_view name_of(scheduler_kind kind) noexcept;

/// Where this process stands in the launch of a scheduler. What the scheduler does not say is empty.
struct scheduler_place {
  scheduler_kind kind = scheduler_kind::none;
  /// Less than node_count. Empty in a shell of salloc, which may run on no node of the job.
  std::optional<std::uint32_t> node_rank;
  /// Kubernetes gives no number of pods.
  std::optional<std::uint32_t> node_count;
  /// Which of this scheduler's processes on its node this one is.
  std::optional<std::uint32_t> local_rank;
  /// It has started this program on every node. The script or the shell of a Slurm job runs on one of them alone.
  bool is_on_every_node = false;
  /// Slurm alone names the nodes, in the order of ranks. The slots are tasks, 1 where their number is not given.
  std::vector<launch_node> nodes;
  /// Name or address of the node of rank 0, as read_node_name gives it: from Slurm, or MASTER_ADDR of torchrun.
  std::string first_node;
  /// MASTER_PORT of torchrun.
  std::optional<std::uint16_t> first_port;
};

/// Finds the scheduler that started this process. The order of scheduler_kind is that of precedence, from the
/// innermost: torchrun is started by mpirun, srun or in a pod; mpirun within a job of Slurm; Slurm may itself run in
/// pods. What a launcher starts inherits the variables of the outer ones, which then mean another process: mpirun
/// starts its own daemons by srun, so SLURM_NODEID of its processes is the daemon's, counted without the first node.
///
/// Slurm: within a step (srun) nodes and ranks are those of the step, else those of the job. Open MPI does not number
/// nodes: they follow from rank and local size where every node has as many processes, one after another.
///
/// Errors name the variable: E0103 for a malformed one, E0104 for one that contradicts another or is missing.
expected<scheduler_place> find_scheduler(const environment_lookup& lookup);

}  // namespace troupe
