#pragma once

#include <map>
#include <optional>
#include <vector>

#include "actors/protocol.hpp"
#include "runtime/topology/wiring_plan.hpp"

namespace troupe {

/// What the director knows of its stages: the newest incarnation of every stage replica (a member), and whether it has
/// edges.
///
///   starting --ready--> ready --wire()--> wired
///   wired --wire(), and a neighbour that it needs is missing--> ready
///   starting, ready, wired --lost--> lost --start()--> starting
///   starting, ready, wired --stopped--> gone
///
/// Threads: one.
class stage_roster {
 public:
  enum class standing : std::uint8_t { starting, ready, wired, lost, gone };
  struct member {
    stage_actor actor;
    incarnation_number incarnation = 0;
    standing now = standing::starting;
  };

  stage_roster() = default;
  /// `plan` outlives it.
  explicit stage_roster(const wiring_plan& plan) : plan_(&plan) {}

  [[nodiscard]] const std::map<stage_address, member>& members() const noexcept { return members_; }

  /// The next incarnation is starting, and has this actor.
  void start(stage_address at, stage_actor actor);
  [[nodiscard]] incarnation_number next_incarnation(stage_address at) const;

  // Each of these returns whether it has changed anything. Reports of an older incarnation do not.
  [[nodiscard]] bool ready(stage_address at, incarnation_number incarnation);
  [[nodiscard]] bool lost(stage_address at, incarnation_number incarnation);
  [[nodiscard]] bool stopped(stage_address at, incarnation_number incarnation);

  /// Since the last wire() a member has become ready or was lost, or require_wiring() was called.
  [[nodiscard]] bool needs_wiring() const noexcept { return stale_; }
  /// New edges are needed although no member has changed, because a message or an edge was lost.
  void require_wiring() noexcept { stale_ = true; }
  /// Whether the members that are ready or wired can serve every node (usable_instances). Before the first wire() all
  /// members must be ready.
  [[nodiscard]] bool can_be_wired() const;
  /// Wires all members that are ready or wired and that can work with the others. Returns their addresses.
  [[nodiscard]] std::vector<stage_address> wire();
  [[nodiscard]] bool was_wired() const noexcept { return was_wired_; }

  [[nodiscard]] bool is_stage_actor(const caf::actor_addr& address) const;
  /// Whether every member is lost or gone, so that no stage runs.
  [[nodiscard]] bool all_gone() const;

 private:
  [[nodiscard]] std::vector<bool> usable() const;
  member* current(stage_address at, incarnation_number incarnation);

  const wiring_plan* plan_ = nullptr;
  std::map<stage_address, member> members_;
  bool stale_ = true;
  bool was_wired_ = false;
};

}  // namespace troupe
