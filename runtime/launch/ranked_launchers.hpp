#pragma once

#include <string_view>

#include "runtime/launch/scheduler.hpp"
#include "runtime/launch/variable_reader.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The parts of find_scheduler for launchers that number processes, not nodes alone. The variables by which they are
/// recognised:
inline constexpr std::string_view group_rank = "GROUP_RANK";
inline constexpr std::string_view mpi_rank = "OMPI_COMM_WORLD_RANK";
inline constexpr std::string_view pmix_rank = "PMIX_RANK";

/// The number of nodes is GROUP_WORLD_SIZE; where it is not set, that of equal groups.
expected<scheduler_place> read_torchrun(const variable_reader& variables);

/// E0104 also where the ranks of a node do not follow one another (mpirun --map-by node).
expected<scheduler_place> read_open_mpi(const variable_reader& variables);

}  // namespace troupe
