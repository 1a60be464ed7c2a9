#include "runtime/launch/slurm.hpp"

#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/node_list.hpp"

namespace troupe {
namespace {

constexpr auto number_max = std::numeric_limits<std::uint32_t>::max();

/// Which variables say what the process is a part of: the step of an srun, or the whole job.
struct slurm_scope {
  bool is_step = false;
  std::string_view node_list;
  std::string_view node_count;
  /// Empty where the variable may mean another scope.
  std::string_view tasks_per_node;
  std::string_view tasks;
};

expected<slurm_scope> find_scope(const variable_reader& variables) {
  // of slurm.h: this number and those above are no steps of tasks; it is that of the shell of salloc
  constexpr std::uint32_t interactive_step = 0xfffffffa;
  const auto step = TROUPE_TRY(variables.number("SLURM_STEP_ID", 0, number_max));
  const bool is_of_tasks = !step || *step < interactive_step;
  if (is_of_tasks && variables.text("SLURM_STEP_NODELIST")) {
    return slurm_scope{true, "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_NODES", "SLURM_STEP_TASKS_PER_NODE",
                       "SLURM_STEP_NUM_TASKS"};
  }
  // the second names are those of old versions
  const auto either = [&](std::string_view name, std::string_view old) {
    return variables.text(name) || !variables.text(old) ? name : old;
  };
  return slurm_scope{false, either("SLURM_JOB_NODELIST", "SLURM_NODELIST"),
                     either("SLURM_JOB_NUM_NODES", "SLURM_NNODES"),
                     is_of_tasks ? std::string_view("SLURM_TASKS_PER_NODE") : std::string_view(), "SLURM_NTASKS"};
}

expected<void> read_nodes(const variable_reader& variables, const slurm_scope& scope, scheduler_place& place) {
  const auto list = variables.text(scope.node_list);
  if (!list) return variables.contradiction(scope.node_list, "is not set, but SLURM_JOB_ID is");
  const auto names = TROUPE_TRY(expand_node_list(*list, scope.node_list));
  const auto count = TROUPE_TRY(variables.number(scope.node_count, 1, limits::launch_nodes_max));
  if (count && *count != names.size()) {
    return variables.contradiction(scope.node_count,
                                   fmt::format("is {}, and {} has {} nodes", *count, scope.node_list, names.size()));
  }
  for (const std::string& name : names) place.nodes.push_back({name, 1});
  place.node_count = static_cast<std::uint32_t>(names.size());
  place.first_node = names.front();
  return {};
}

/// The slots. The numbers of a job may be of processors, so those of a step alone must add up to its tasks.
expected<void> read_tasks(const variable_reader& variables, const slurm_scope& scope, scheduler_place& place) {
  const auto list = scope.tasks_per_node.empty() ? std::nullopt : variables.text(scope.tasks_per_node);
  if (!list) return {};
  const auto counts = TROUPE_TRY(expand_counts(*list, scope.tasks_per_node));
  if (counts.size() != place.nodes.size()) {
    return variables.contradiction(
        scope.tasks_per_node,
        fmt::format("has {} counts, and {} has {} nodes", counts.size(), scope.node_list, place.nodes.size()));
  }
  for (std::size_t i = 0; i < counts.size(); ++i) place.nodes[i].slots = counts[i];
  const auto tasks = TROUPE_TRY(variables.number(scope.tasks, 1, number_max));
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (scope.is_step && tasks && *tasks != sum) {
    return variables.contradiction(scope.tasks,
                                   fmt::format("is {}, and {} has {} tasks", *tasks, scope.tasks_per_node, sum));
  }
  return {};
}

/// SLURM_PROCID among all tasks, where both numbers are known.
expected<void> check_task(const variable_reader& variables, const slurm_scope& scope) {
  const auto task = TROUPE_TRY(variables.number("SLURM_PROCID", 0, number_max));
  const auto tasks = TROUPE_TRY(variables.number(scope.tasks, 1, number_max));
  if (!task || !tasks) return {};
  return variables.check_below("SLURM_PROCID", *task, scope.tasks, *tasks);
}

expected<void> read_own_ranks(const variable_reader& variables, const slurm_scope& scope, scheduler_place& place) {
  const auto node = TROUPE_TRY(variables.number("SLURM_NODEID", 0, number_max));
  const auto local = TROUPE_TRY(variables.number("SLURM_LOCALID", 0, number_max));
  place.node_rank = node;
  place.local_rank = local;
  if (!node) return {};
  TROUPE_TRY(variables.check_below("SLURM_NODEID", *node, scope.node_list, *place.node_count));
  if (!local || scope.tasks_per_node.empty() || !variables.text(scope.tasks_per_node)) return {};
  return variables.check_below("SLURM_LOCALID", *local, scope.tasks_per_node, place.nodes[*node].slots);
}

}  // namespace

expected<scheduler_place> read_slurm(const variable_reader& variables) {
  TROUPE_TRY(variables.required("SLURM_JOB_ID", 0, number_max));
  const auto scope = TROUPE_TRY(find_scope(variables));
  scheduler_place place;
  place.kind = scheduler_kind::slurm;
  place.is_on_every_node = scope.is_step;
  TROUPE_TRY(read_nodes(variables, scope, place));
  TROUPE_TRY(read_tasks(variables, scope, place));
  TROUPE_TRY(check_task(variables, scope));
  TROUPE_TRY(read_own_ranks(variables, scope, place));
  return place;
}

}  // namespace troupe
