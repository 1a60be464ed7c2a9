#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "program/plan/plan_report.hpp"
#include "runtime/launch/placement.hpp"

namespace troupe {
namespace {

/// As pipe_data_parallel_topology() numbers them.
std::vector<std::uint64_t> ranks_of_stage(std::size_t stage, std::uint32_t replicas) {
  std::vector<std::uint64_t> ranks(replicas);
  std::iota(ranks.begin(), ranks.end(), std::uint64_t{stage} * replicas);
  return ranks;
}

/// Any replica may get any micro-batch: the mean over all pairs of replicas. The loader is on the first node.
std::optional<std::uint64_t> crossing_bytes(const plan_report& plan, const placement& placed) {
  double bytes = 0;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    if (!plan.stages[stage].input_bytes) return std::nullopt;
    const auto to = ranks_of_stage(stage, plan.replicas);
    // rank 0 is on the first node, as the loader
    const auto from = stage == 0 ? std::vector<std::uint64_t>{0} : ranks_of_stage(stage - 1, plan.replicas);
    bytes += crossing_share(placed, from, to) * static_cast<double>(*plan.stages[stage].input_bytes);
  }
  return static_cast<std::uint64_t>(std::llround(bytes));
}

}  // namespace

expected<void> place_plan(plan_report& plan, std::span<const node_slots> nodes) {
  const auto placed = TROUPE_TRY(place_ranks(std::uint64_t{plan.replicas} * plan.stages.size(), nodes));
  for (const node_slots& each : nodes) plan.nodes.push_back({.name = each.name, .slots = each.slots.size()});
  for (std::uint64_t rank = 0; rank < placed.ranks.size(); ++rank) {
    const slot_place& at = placed.ranks[rank];
    plan.nodes[at.node].ranks.push_back(
        {.slot = at.slot, .rank = rank, .stage = rank / plan.replicas, .replica = rank % plan.replicas});
  }
  plan.crossing_bytes = crossing_bytes(plan, placed);
  return {};
}

}  // namespace troupe
