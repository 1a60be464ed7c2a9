#include "runtime/launch/ranked_launchers.hpp"

#include <limits>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/launch_text.hpp"
#include "runtime/launch/node_name.hpp"
#include <troupe/limits.hpp>

namespace troupe {
namespace {

constexpr auto processes_max = static_cast<std::uint32_t>(limits::ranks_max);

/// A process among all and among those of its node, from four variables.
struct process_ranks {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
};
struct rank_variables {
  std::string_view rank;
  std::string_view size;
  std::string_view local_rank;
  std::string_view local_size;
};

expected<process_ranks> read_ranks(const variable_reader& variables, const rank_variables& names) {
  const auto size = TROUPE_TRY(variables.required(names.size, 1, processes_max));
  const auto rank = TROUPE_TRY(variables.required(names.rank, 0, processes_max - 1));
  const auto local_size = TROUPE_TRY(variables.required(names.local_size, 1, limits::node_slots_max));
  const auto local_rank = TROUPE_TRY(variables.required(names.local_rank, 0, limits::node_slots_max - 1));
  TROUPE_TRY(variables.check_below(names.rank, rank, names.size, size));
  TROUPE_TRY(variables.check_below(names.local_rank, local_rank, names.local_size, local_size));
  if (local_size > size)
    return variables.contradiction(names.local_size,
                                   fmt::format("is {}, more than the {} of {}", local_size, size, names.size));
  return process_ranks{rank, size, local_rank, local_size};
}

scheduler_place ranked_place(scheduler_kind kind, std::uint32_t node_rank, std::uint32_t node_count,
                             std::uint32_t local_rank) {
  scheduler_place place;
  place.kind = kind;
  place.node_rank = node_rank;
  place.node_count = node_count;
  place.local_rank = local_rank;
  place.is_on_every_node = true;
  return place;
}

/// How many nodes there are if every one has as many processes as this one.
expected<std::uint32_t> count_nodes(const variable_reader& variables, const rank_variables& names,
                                    const process_ranks& ranks) {
  const std::uint32_t nodes = ranks.size / ranks.local_size;
  if (ranks.size % ranks.local_size != 0) {
    return variables.contradiction(names.local_size, fmt::format("is {}, which does not divide the {} of {}",
                                                                 ranks.local_size, ranks.size, names.size));
  }
  if (nodes > limits::launch_nodes_max) {
    return fail(error_code::value_out_of_range, std::string(names.size),
                fmt::format("says that there are {} nodes, a launch has at most {}", nodes, limits::launch_nodes_max),
                "start fewer processes");
  }
  return nodes;
}

expected<void> read_master(const variable_reader& variables, scheduler_place& place) {
  constexpr std::string_view address = "MASTER_ADDR";
  const auto port = TROUPE_TRY(variables.number("MASTER_PORT", 1, std::numeric_limits<std::uint16_t>::max()));
  if (port) place.first_port = static_cast<std::uint16_t>(*port);
  const auto text = variables.text(address);
  if (!text) return {};
  auto name = read_node_name(*text);
  if (!name) {
    return fail(error_code::value_out_of_range, character_place(address, name.error().at), name.error().cause,
                "set it to the name or the address of the first node");
  }
  place.first_node = std::move(*name);
  return {};
}

}  // namespace

expected<scheduler_place> read_torchrun(const variable_reader& variables) {
  constexpr rank_variables names{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
  constexpr std::string_view group_size = "GROUP_WORLD_SIZE";
  const auto ranks = TROUPE_TRY(read_ranks(variables, names));
  const auto node = TROUPE_TRY(variables.required(group_rank, 0, limits::launch_nodes_max - 1));
  const auto groups = TROUPE_TRY(variables.number(group_size, 1, limits::launch_nodes_max));
  const auto nodes = TROUPE_TRY(groups ? expected<std::uint32_t>(*groups) : count_nodes(variables, names, ranks));
  TROUPE_TRY(variables.check_below(group_rank, node, groups ? group_size : names.size, nodes));
  scheduler_place place = ranked_place(scheduler_kind::torchrun, node, nodes, ranks.local_rank);
  return read_master(variables, place).map([&] { return std::move(place); });
}

expected<scheduler_place> read_open_mpi(const variable_reader& variables) {
  constexpr rank_variables names{mpi_rank, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                                 "OMPI_COMM_WORLD_LOCAL_SIZE"};
  const auto ranks = TROUPE_TRY(read_ranks(variables, names));
  const auto pmix = TROUPE_TRY(variables.number(pmix_rank, 0, processes_max - 1));
  if (pmix && *pmix != ranks.rank)
    return variables.contradiction(pmix_rank, fmt::format("is {}, and {} is {}", *pmix, mpi_rank, ranks.rank));
  const auto nodes = TROUPE_TRY(count_nodes(variables, names, ranks));
  if (ranks.rank % ranks.local_size != ranks.local_rank) {
    return fail(error_code::flags_contradict, std::string(names.local_rank),
                fmt::format("is {} for rank {}: the ranks of a node do not follow one another, so the node's rank is "
                            "unknown",
                            ranks.local_rank, ranks.rank),
                "start one process per node: mpirun --map-by ppr:1:node");
  }
  return ranked_place(scheduler_kind::open_mpi, ranks.rank / ranks.local_size, nodes, ranks.local_rank);
}

}  // namespace troupe
