#include <algorithm>

#include "tests/protocol/protocol_model.hpp"

// One death, and what all others do about it.
namespace troupe::testing {

std::uint8_t protocol_model::low_water(const protocol_state& state) const {
  std::uint8_t mark = options_.micro_batches;
  for (std::size_t sink = 0; sink < network_.sinks; ++sink) {
    std::uint8_t folded = 0;
    while ((state[first_sink_ + sink] >> folded & 1u) != 0) ++folded;
    mark = std::min(mark, folded);
  }
  return mark;
}

bool protocol_model::is_dead(const protocol_state& state, std::uint8_t instance) const {
  return state[death_at] == first_dead + instance;
}

void protocol_model::deaths(const protocol_state& from, step_list& into) const {
  // The right recovery forgets who died as it forgets all else but the sinks: where it follows at once, one death
  // stands for all of them.
  const bool one_is_all = options_.wrong == mutant::none && !options_.late_recovery;
  const auto end = one_is_all ? std::uint8_t{2} : static_cast<std::uint8_t>(network_.instances.size());
  for (std::uint8_t dead = 1; dead < end; ++dead) {
    if (!options_.late_recovery) {
      recoveries(from, dead, step_kind::death_and_recovery, into);
      continue;
    }
    protocol_step step{from, step_kind::death, dead, 0, violation::none};
    step.next[death_at] = static_cast<std::uint8_t>(first_dead + dead);
    for (const auto& port : network_.instances[dead].ports) {
      for (const std::uint8_t edge : port) step.next[first_edge + edge] = 0;
    }
    if (!network_.instances[dead].keeps_order) step.next[first_instance_ + dead] = 0;
    into.push_back(step);
  }
}

/// The mark may have been read before scores that are on their way were folded, so it is any up to the true one.
void protocol_model::recoveries(const protocol_state& from, std::uint8_t dead, step_kind kind, step_list& into) const {
  for (std::uint8_t mark = 0; mark <= low_water(from); ++mark) {
    protocol_step step{from, kind, dead, mark, violation::none};
    step.next[death_at] = recovered;
    step.next[source_at] = mark;
    for (std::size_t edge = 0; edge < network_.edges.size(); ++edge) {
      const flow_edge& each = network_.edges[edge];
      const bool is_kept = options_.wrong == mutant::recovery_keeps_parts && each.from != dead && each.to != dead;
      if (!is_kept) step.next[first_edge + edge] = 0;
    }
    for (std::size_t i = 0; i < network_.instances.size(); ++i) {
      const flow_instance& each = network_.instances[i];
      step.next[first_instance_ + i] = each.keeps_order ? each.first_id(mark) : std::uint8_t{0};
    }
    if (options_.wrong == mutant::recovery_keeps_work) send_late_work(from, step, into);
    into.push_back(step);
  }
}

/// A survivor that had its inputs when the other died, and sends what it made of them after the recovery.
void protocol_model::send_late_work(const protocol_state& before, const protocol_step& recovery,
                                    step_list& into) const {
  const auto end = static_cast<std::uint8_t>(network_.instances.size());
  for (std::uint8_t i = 1; i < end; ++i) {
    const flow_instance& each = network_.instances[i];
    const edge_list used = each.keeps_order ? wanted_edges(before, i) : edge_list{{each.ports.front().front()}, 1};
    if (i == recovery.instance || used.count == 0 || before[first_edge + used.edges[0]] == 0) continue;
    protocol_step late = recovery;
    late.instance = i;
    late.id = head_of(before[first_edge + used.edges[0]]);
    send(late, 0, into);
  }
}

}  // namespace troupe::testing
