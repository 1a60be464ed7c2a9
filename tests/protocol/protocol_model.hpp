#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/protocol/network.hpp"
#include "tests/protocol/protocol_state.hpp"

namespace troupe::testing {

/// What must never happen.
enum class violation : std::uint8_t {
  none,
  deadlock,          ///< no step is possible, and there is work left
  lost_part,         ///< all came to rest, and a sink lacks an id
  repeated_part,     ///< something came twice although no instance had died
  folded_twice,      ///< a sink counted an id twice
  mismatched_parts,  ///< a join put parts of different ids together
  overfull_edge,     ///< more on an edge than it has slots
  out_of_order,      ///< descending ids on an edge into a node that keeps order
};

/// Ways of getting the protocol wrong, one at a time, that the exploration must notice.
enum class mutant : std::uint8_t {
  none,
  shared_slots,          ///< the edges into a replica draw on one pool, instead of having slots of their own
  fan_out_sends_again,   ///< sends where there is room, and when the rest has room, to all
  fan_out_forgets,       ///< sends where there is room, and to the rest never
  recovery_keeps_parts,  ///< only the dead replica's edges are emptied; the rest stays, replays queue behind it
  recovery_keeps_work,   ///< a survivor sends what it had in work once its edges are fresh
  takes_any_head,        ///< a join takes the first message of each port, whatever its id
  sinks_fold_all,        ///< sinks do not look for duplicates
};

struct protocol_options {
  std::uint8_t credits = 2;        ///< slots of every edge, up to 3
  std::uint8_t micro_batches = 3;  ///< up to 4
  bool one_dies = false;           ///< one replica of one node, at any moment, or none
  bool late_recovery = false;      ///< the others go on for a while before recovery; otherwise it follows at once
  std::uint8_t window = 4;         ///< ids that the source may be ahead of the low-water mark
  bool is_reduced = false;         ///< see protocol_model::steps
  mutant wrong = mutant::none;
};

enum class step_kind : std::uint8_t { work, take, drop_stale, death, recovery, death_and_recovery };

struct protocol_step {
  protocol_state next;
  step_kind kind = step_kind::work;
  std::uint8_t instance = 0;
  /// The micro-batch; of a recovery, the mark from which the source replays.
  std::uint8_t id = 0;
  violation broken = violation::none;
};

/// The protocol of docs/topologies.md over one graph, as a machine that takes one atomic step at a time: an instance
/// with its inputs there and room on every branch works, sends on all branches, then gives its input slots back.
///
/// Left out, as nothing can tell the difference: the moment at which a replica that has no choice receives a message
/// (it keeps the slot until it has sent), and the way of a score to its sink. The latter shows in one place only, a
/// low-water mark that was read too early; so recovery may read any mark up to the true one.
class protocol_model {
 public:
  using state = protocol_state;
  using step = protocol_step;
  using violation = testing::violation;

  protocol_model(const flow_graph& graph, const protocol_options& options);

  [[nodiscard]] protocol_state initial() const;

  /// All that can happen next; replaces the contents of `into`.
  ///
  /// Reduced: where an instance can step that has no choice of edges and no sink, its step is the only one. Nothing is
  /// missed: it alone takes from its inbound edges and sends on its outbound ones, so whatever the others do instead
  /// first, they cannot prevent or change its step, and its step takes nothing from them; it only adds to what they
  /// can do. A death forgets everything but the sinks, and so is the same before that step and after it. There are no
  /// cycles in which a step could be put off forever. (Holds for the right protocol with recovery at once.)
  void steps(const protocol_state& from, std::vector<protocol_step>& into) const;

  /// The violation of a state in which nothing but a death can happen.
  [[nodiscard]] violation at_rest(const protocol_state& state) const;
  [[nodiscard]] bool is_death(const protocol_step& step) const noexcept;

  /// "3 works 1 -> 5 6", by the number of the node, with /r for one of two replicas.
  [[nodiscard]] std::string describe(const protocol_state& before, const protocol_step& step) const;

  /// Bytes of a state that are in use.
  [[nodiscard]] std::size_t state_size() const noexcept { return first_sink_ + network_.sinks; }

 private:
  using step_list = std::vector<protocol_step>;

  /// At most one edge per port; on the stack, as there is one of these per state and instance.
  struct edge_list {
    std::array<std::uint8_t, 8> edges{};
    std::size_t count = 0;
    [[nodiscard]] std::span<const std::uint8_t> span() const noexcept { return {edges.data(), count}; }
  };

  void steps_of(const protocol_state& from, std::uint8_t instance, step_list& into) const;
  void ordered_steps(const protocol_state& from, std::uint8_t instance, step_list& into) const;
  void stage_steps(const protocol_state& from, std::uint8_t instance, step_list& into) const;
  void deaths(const protocol_state& from, step_list& into) const;
  void recoveries(const protocol_state& from, std::uint8_t dead, step_kind kind, step_list& into) const;
  void send_late_work(const protocol_state& before, const protocol_step& recovery, step_list& into) const;

  void work(const protocol_state& from, std::uint8_t instance, std::uint8_t id, std::span<const std::uint8_t> used,
            violation broken, step_list& into) const;
  void send(protocol_step step, std::size_t branch, step_list& into) const;
  void send_piecemeal(const protocol_state& from, const protocol_step& worked, step_list& into) const;
  void push(protocol_step& step, std::uint8_t edge) const;
  void fold(protocol_step& step) const;

  [[nodiscard]] static std::span<const std::uint8_t> edges_to_try(const protocol_step& step, const flow_branch& branch);
  [[nodiscard]] bool reaches_nobody(const protocol_step& step, const flow_branch& branch) const;
  [[nodiscard]] bool has_room(const protocol_state& state, std::uint8_t edge) const;
  [[nodiscard]] edge_list wanted_edges(const protocol_state& state, std::uint8_t instance) const;
  [[nodiscard]] std::uint8_t low_water(const protocol_state& state) const;
  [[nodiscard]] bool has_no_choice(const protocol_state& state, std::uint8_t instance) const;
  [[nodiscard]] bool is_dead(const protocol_state& state, std::uint8_t instance) const;
  [[nodiscard]] std::string name_of(std::uint8_t instance) const;

  flow_network network_;
  bool is_accepted_;
  protocol_options options_;
  std::size_t first_instance_;
  std::size_t first_sink_;
};

}  // namespace troupe::testing
