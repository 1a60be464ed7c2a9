#include <algorithm>

#include "tests/protocol/protocol_model.hpp"

// Fan-out: what a step does to the edges behind it.
namespace troupe::testing {

/// A slot is free again only once the outputs are sent. Here both happen in one step, as no step can tell the
/// difference: the slots that are taken and those that are freed belong to different edges, and nothing can keep the
/// instance from freeing them.
void protocol_model::work(const protocol_state& from, std::uint8_t instance, std::uint8_t id,
                          std::span<const std::uint8_t> used, violation broken, step_list& into) const {
  const flow_instance& each = network_.instances[instance];
  protocol_step step{from, step_kind::work, instance, id, broken};
  for (const std::uint8_t edge : used) step.next[first_edge + edge] = without_head(step.next[first_edge + edge]);
  std::uint8_t& own = step.next[first_instance_ + instance];
  own = each.keeps_order ? static_cast<std::uint8_t>(own + each.replicas) : std::uint8_t{0};
  if (each.is_source()) ++step.next[source_at];
  const std::size_t before = into.size();
  send(step, 0, into);
  const bool is_piecemeal = options_.wrong == mutant::fan_out_sends_again || options_.wrong == mutant::fan_out_forgets;
  if (is_piecemeal && into.size() == before) send_piecemeal(from, step, into);
}

/// All branches or none, in every way that the free slots allow.
void protocol_model::send(protocol_step step, std::size_t branch, step_list& into) const {
  const flow_instance& each = network_.instances[step.instance];
  if (branch == each.branches.size()) {
    fold(step);
    into.push_back(step);
    return;
  }
  if (reaches_nobody(step, each.branches[branch])) return send(step, branch + 1, into);
  for (const std::uint8_t edge : edges_to_try(step, each.branches[branch])) {
    if (!has_room(step.next, edge) || is_dead(step.next, network_.edges[edge].to)) continue;
    protocol_step sent = step;
    push(sent, edge);
    send(sent, branch + 1, into);
  }
}

void protocol_model::send_piecemeal(const protocol_state& from, const protocol_step& worked, step_list& into) const {
  protocol_step part = worked;
  if (options_.wrong == mutant::fan_out_sends_again) part.next = from;
  bool any_sent = false;
  for (const flow_branch& branch : network_.instances[part.instance].branches) {
    const auto edges = edges_to_try(part, branch);
    const auto found = std::ranges::find_if(edges, [&](std::uint8_t edge) { return has_room(part.next, edge); });
    if (found == edges.end()) continue;
    push(part, *found);
    any_sent = true;
  }
  if (!any_sent) return;
  fold(part);
  into.push_back(part);
}

void protocol_model::push(protocol_step& step, std::uint8_t edge) const {
  std::uint8_t& on_edge = step.next[first_edge + edge];
  const bool must_ascend = is_accepted_ && options_.wrong == mutant::none;
  if (must_ascend && network_.instances[network_.edges[edge].to].keeps_order && count_of(on_edge) > 0 &&
      last_of(on_edge) >= step.id) {
    step.broken = violation::out_of_order;
  }
  on_edge = with(on_edge, step.id);
  if (count_of(on_edge) > options_.credits && options_.wrong != mutant::shared_slots) {
    step.broken = violation::overfull_edge;
  }
}

void protocol_model::fold(protocol_step& step) const {
  const int sink = network_.instances[step.instance].sink;
  if (sink < 0) return;
  std::uint8_t& folded = step.next[first_sink_ + static_cast<std::size_t>(sink)];
  const auto bit = static_cast<std::uint8_t>(1u << step.id);
  if ((folded & bit) != 0) {
    if (step.next[death_at] == nobody_died) step.broken = violation::repeated_part;
    if (options_.wrong == mutant::sinks_fold_all) step.broken = violation::folded_twice;
  }
  folded |= bit;
}

std::span<const std::uint8_t> protocol_model::edges_to_try(const protocol_step& step, const flow_branch& branch) {
  if (!branch.is_fixed) return branch.edges;
  return {&branch.edges[step.id % branch.edges.size()], 1};
}

/// A branch whose receiver is dead is closed, and passed over: a fixed receiver takes its ids with it.
bool protocol_model::reaches_nobody(const protocol_step& step, const flow_branch& branch) const {
  return std::ranges::all_of(edges_to_try(step, branch),
                             [&](std::uint8_t edge) { return is_dead(step.next, network_.edges[edge].to); });
}

bool protocol_model::has_room(const protocol_state& state, std::uint8_t edge) const {
  if (options_.wrong != mutant::shared_slots) return count_of(state[first_edge + edge]) < options_.credits;
  unsigned used = 0;
  unsigned slots = 0;
  for (const auto& port : network_.instances[network_.edges[edge].to].ports) {
    for (const std::uint8_t other : port) {
      used += count_of(state[first_edge + other]);
      slots += options_.credits;
    }
  }
  return used < slots && count_of(state[first_edge + edge]) < edge_slots_max;
}

}  // namespace troupe::testing
