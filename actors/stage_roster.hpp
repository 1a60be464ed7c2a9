#pragma once

#include <map>
#include <optional>
#include <vector>

#include "actors/protocol.hpp"
#include "runtime/topology/wiring_plan.hpp"

namespace troupe {

/// The newest incarnation of every stage replica (a member), and whether it is wired: what the director knows of its
/// stages.
///
///   starting --ready--> ready <--wire()--> wired    (ready: another node has no member yet)
///   any of them --lost--> lost --start--> starting;   any of them --stopped--> gone
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

  /// `actor` stands for the next incarnation, which is starting.
  void start(stage_address at, stage_actor actor);
  [[nodiscard]] incarnation_number next_incarnation(stage_address at) const;

  /// Each says whether it changed anything: what comes from an older incarnation does not.
  [[nodiscard]] bool ready(stage_address at, incarnation_number incarnation);
  [[nodiscard]] bool lost(stage_address at, incarnation_number incarnation);
  [[nodiscard]] bool stopped(stage_address at, incarnation_number incarnation);

  /// A member is ready and not wired, or wired to one that is lost.
  [[nodiscard]] bool needs_wiring() const noexcept { return stale_; }
  /// The edges must be new although all are there: something that went over the control plane was lost.
  void require_wiring() noexcept { stale_ = true; }
  /// The members that are ready or wired can serve every node (usable_instances). The first time all of them must be.
  [[nodiscard]] bool can_be_wired() const;
  /// The members that are ready or wired, and can work, are wired from now on. Gives their addresses.
  [[nodiscard]] std::vector<stage_address> wire();
  [[nodiscard]] bool was_wired() const noexcept { return was_wired_; }

  [[nodiscard]] bool is_stage_actor(const caf::actor_addr& address) const;
  /// Every member is lost or gone: none of them runs.
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
