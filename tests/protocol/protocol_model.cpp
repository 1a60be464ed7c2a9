#include "tests/protocol/protocol_model.hpp"

#include <algorithm>
#include <array>

#include "messages/check.hpp"

namespace troupe::testing {

protocol_model::protocol_model(const flow_graph& graph, const protocol_options& options)
    : network_(expand(graph)),
      is_accepted_(is_accepted(graph)),
      options_(options),
      first_instance_(first_edge + network_.edges.size()),
      first_sink_(first_instance_ + network_.instances.size()) {
  TROUPE_CHECK(options.credits >= 1 && options.credits <= edge_slots_max, "an edge of the model is a byte");
  TROUPE_CHECK(options.micro_batches <= micro_batches_max, "an id of the model is two bits");
  TROUPE_CHECK(!options.is_reduced || (options.wrong == mutant::none && !options.late_recovery),
               "the reduction holds for the right protocol with recovery at once");
  TROUPE_CHECK(state_size() <= protocol_state{}.size(), "a state has room for every edge, instance and sink");
}

protocol_state protocol_model::initial() const {
  protocol_state state{};
  for (std::size_t i = 0; i < network_.instances.size(); ++i) {
    if (network_.instances[i].keeps_order) state[first_instance_ + i] = network_.instances[i].first_id(0);
  }
  return state;
}

void protocol_model::steps(const protocol_state& from, step_list& into) const {
  into.clear();
  if (options_.is_reduced) {
    // From the sinks backwards: what can leave the pipeline leaves it, and few states remain.
    for (std::size_t i = network_.instances.size(); i-- > 0;) {
      if (has_no_choice(from, static_cast<std::uint8_t>(i))) steps_of(from, static_cast<std::uint8_t>(i), into);
      if (!into.empty()) return;
    }
  }
  for (std::size_t i = 0; i < network_.instances.size(); ++i) steps_of(from, static_cast<std::uint8_t>(i), into);
  if (options_.one_dies && from[death_at] == nobody_died) deaths(from, into);
  if (from[death_at] >= first_dead) {
    recoveries(from, static_cast<std::uint8_t>(from[death_at] - first_dead), step_kind::recovery, into);
  }
}

bool protocol_model::has_no_choice(const protocol_state& state, std::uint8_t instance) const {
  const flow_instance& each = network_.instances[instance];
  if (each.sink >= 0 && options_.one_dies && state[death_at] == nobody_died) return false;
  if (each.takes_any() && state[first_instance_ + instance] == 0) return false;
  return std::ranges::none_of(each.branches, &flow_branch::has_choice);
}

void protocol_model::steps_of(const protocol_state& from, std::uint8_t instance, step_list& into) const {
  const flow_instance& each = network_.instances[instance];
  if (is_dead(from, instance)) return;
  if (each.keeps_order) return ordered_steps(from, instance, into);
  if (!each.is_source()) return stage_steps(from, instance, into);
  const std::uint8_t id = from[source_at];
  if (id < options_.micro_batches && id < low_water(from) + options_.window) {
    work(from, instance, id, {}, violation::none, into);
  }
}

void protocol_model::ordered_steps(const protocol_state& from, std::uint8_t instance, step_list& into) const {
  const std::uint8_t wanted = from[first_instance_ + instance];
  for (const auto& port : network_.instances[instance].ports) {
    for (const std::uint8_t edge : port) {
      const std::uint8_t on_edge = from[first_edge + edge];
      if (count_of(on_edge) == 0 || head_of(on_edge) >= wanted || options_.wrong == mutant::takes_any_head) continue;
      into.push_back({from, step_kind::drop_stale, instance, head_of(on_edge),
                      from[death_at] == nobody_died ? violation::repeated_part : violation::none});
      into.back().next[first_edge + edge] = without_head(on_edge);
    }
  }
  const edge_list used = wanted_edges(from, instance);
  if (used.count == 0) return;
  const std::uint8_t id = head_of(from[first_edge + used.edges[0]]);
  const bool fits = std::ranges::all_of(used.span(), [&](auto edge) { return head_of(from[first_edge + edge]) == id; });
  work(from, instance, id, used.span(), fits ? violation::none : violation::mismatched_parts, into);
}

/// The edge of each port that has the wanted id at its head; none if they are not all there.
protocol_model::edge_list protocol_model::wanted_edges(const protocol_state& state, std::uint8_t instance) const {
  edge_list used;
  for (const auto& port : network_.instances[instance].ports) {
    const auto found = std::ranges::find_if(port, [&](std::uint8_t edge) {
      const std::uint8_t on_edge = state[first_edge + edge];
      return count_of(on_edge) > 0 &&
             (options_.wrong == mutant::takes_any_head || head_of(on_edge) == state[first_instance_ + instance]);
    });
    if (found == port.end()) return {};
    used.edges[used.count++] = *found;
  }
  return used;
}

void protocol_model::stage_steps(const protocol_state& from, std::uint8_t instance, step_list& into) const {
  const auto& edges = network_.instances[instance].ports.front();
  const bool takes_any = network_.instances[instance].takes_any();
  const std::uint8_t taken = from[first_instance_ + instance];
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::uint8_t on_edge = from[first_edge + edges[i]];
    if (count_of(on_edge) == 0) continue;
    if (!takes_any || taken == i + 1) {
      work(from, instance, head_of(on_edge), {&edges[i], 1}, violation::none, into);
    } else if (taken == 0) {
      into.push_back({from, step_kind::take, instance, head_of(on_edge), violation::none});
      into.back().next[first_instance_ + instance] = static_cast<std::uint8_t>(i + 1);
    }
  }
}

violation protocol_model::at_rest(const protocol_state& state) const {
  const auto* edges = state.data() + first_edge;
  const bool is_empty = std::all_of(edges, edges + network_.edges.size(), [](std::uint8_t edge) { return edge == 0; });
  if (!is_empty || state[source_at] < options_.micro_batches) return violation::deadlock;
  return low_water(state) < options_.micro_batches ? violation::lost_part : violation::none;
}

bool protocol_model::is_death(const protocol_step& step) const noexcept {
  return step.kind == step_kind::death || step.kind == step_kind::death_and_recovery;
}

std::string protocol_model::name_of(std::uint8_t instance) const {
  const flow_instance& each = network_.instances[instance];
  return std::to_string(each.node) + (each.replicas > 1 ? "/" + std::to_string(each.replica) : "");
}

std::string protocol_model::describe(const protocol_state& before, const protocol_step& step) const {
  static constexpr std::array verbs = {
      " works ", " takes ", " drops ", " dies", " is replaced, replay from ", " dies and is replaced, replay from "};
  std::string text = name_of(step.instance) + verbs[static_cast<std::size_t>(step.kind)];
  if (step.kind != step_kind::death) text += std::to_string(step.id);
  const char* separator = " -> ";
  for (std::size_t edge = 0; edge < network_.edges.size(); ++edge) {
    if (count_of(step.next[first_edge + edge]) <= count_of(before[first_edge + edge])) continue;
    text += separator + name_of(network_.edges[edge].to);
    separator = " ";
  }
  return text;
}

}  // namespace troupe::testing
