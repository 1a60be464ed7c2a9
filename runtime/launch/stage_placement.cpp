#include "runtime/launch/stage_placement.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe {

stage_placement::stage_placement(std::vector<placed_node> nodes, std::map<stage_address, std::size_t> first,
                                 bool may_shrink)
    : may_shrink_(may_shrink), at_(std::move(first)) {
  for (placed_node& each : nodes) nodes_.push_back({.what = std::move(each)});
  for (const auto& [at, node] : at_) {
    TROUPE_CHECK(node < nodes_.size(), "a stage is placed on a node of the launch");
    ++nodes_[node].stages;
  }
}

expected<std::size_t> stage_placement::node_for(stage_address at) {
  const std::lock_guard lock{mutex_};
  const auto found = at_.find(at);
  TROUPE_CHECK(found != at_.end(), "every stage in a worker has a place");
  state& now = nodes_[found->second];
  if (now.loss.empty()) return found->second;
  state* const next = find_successor();
  if (next == nullptr) {
    return fail(error_code::node_lost, "node " + now.what.name, now.loss + "; no slot is left for its stages",
                "give the launch more slots than stages, or --allow-shrink");
  }
  --now.stages;
  ++next->stages;
  found->second = static_cast<std::size_t>(next - nodes_.data());
  return found->second;
}

stage_placement::state* stage_placement::find_successor() {
  state* best = nullptr;
  // compared as products: stages / slots without a rounding
  const auto load_of = [](const state& of, const state& other) { return std::uint64_t{of.stages} * other.what.slots; };
  for (state& each : nodes_) {
    if (!each.loss.empty()) continue;
    if (each.stages < each.what.slots) return &each;
    if (best == nullptr || load_of(each, *best) < load_of(*best, each)) best = &each;
  }
  return may_shrink_ ? best : nullptr;
}

void stage_placement::lose(std::size_t node, const error& why) {
  const std::lock_guard lock{mutex_};
  state& lost = nodes_.at(node);
  if (lost.loss.empty()) lost.loss = why.cause.empty() ? "it was lost" : why.cause;
}

bool stage_placement::has_room() const {
  const std::lock_guard lock{mutex_};
  std::size_t slots = 0;
  for (const state& each : nodes_) slots += each.loss.empty() ? each.what.slots : 0;
  return slots >= at_.size() || (may_shrink_ && slots > 0);
}

bool stage_placement::is_lost(std::size_t node) const {
  const std::lock_guard lock{mutex_};
  return !nodes_.at(node).loss.empty();
}

}  // namespace troupe
