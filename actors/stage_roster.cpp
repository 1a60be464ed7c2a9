#include "actors/stage_roster.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "runtime/wiring/make_wiring.hpp"

namespace troupe {

namespace {

bool is_there(const stage_roster::member& one) {
  return one.now == stage_roster::standing::ready || one.now == stage_roster::standing::wired;
}

}  // namespace

void stage_roster::start(stage_address at, stage_actor actor) {
  const incarnation_number incarnation = next_incarnation(at);
  members_[at] = {std::move(actor), incarnation, standing::starting};
}

incarnation_number stage_roster::next_incarnation(stage_address at) const {
  const auto found = members_.find(at);
  return found == members_.end() ? 0 : found->second.incarnation + 1;
}

stage_roster::member* stage_roster::current(stage_address at, incarnation_number incarnation) {
  const auto found = members_.find(at);
  TROUPE_CHECK(found != members_.end(), "a stage that reports was started");
  return found->second.incarnation == incarnation ? &found->second : nullptr;
}

bool stage_roster::ready(stage_address at, incarnation_number incarnation) {
  member* one = current(at, incarnation);
  if (one == nullptr || one->now != standing::starting) return false;
  // starting -> ready: its engine has started, and can take edges.
  one->now = standing::ready;
  stale_ = true;
  return true;
}

bool stage_roster::lost(stage_address at, incarnation_number incarnation) {
  member* one = current(at, incarnation);
  if (one == nullptr || one->now == standing::lost || one->now == standing::gone) return false;
  // starting, ready, wired -> lost: its process has ended. If it was wired, its neighbours need new edges.
  one->now = standing::lost;
  stale_ = true;
  return true;
}

bool stage_roster::stopped(stage_address at, incarnation_number incarnation) {
  member* one = current(at, incarnation);
  if (one == nullptr || one->now == standing::lost || one->now == standing::gone) return false;
  // starting, ready, wired -> gone: it was told to stop, and no other incarnation follows.
  one->now = standing::gone;
  return true;
}

std::vector<bool> stage_roster::usable() const {
  std::vector<bool> there(plan_->instances.size(), true);  // the source is no member, and always there
  for (const auto& [at, one] : members_) there[plan_->instance_at(at)] = is_there(one);
  return usable_instances(*plan_, std::move(there));
}

bool stage_roster::can_be_wired() const {
  if (!was_wired_) return std::ranges::all_of(members_, [](const auto& each) { return is_there(each.second); });
  return serves_every_node(*plan_, usable());
}

std::vector<stage_address> stage_roster::wire() {
  const std::vector<bool> chosen = usable();
  std::vector<stage_address> present;
  for (auto& [at, one] : members_) {
    const bool works = chosen[plan_->instance_at(at)];
    if (works) present.push_back(at);
    // Without a neighbour that it needs, a member waits without edges for the next epoch.
    if (is_there(one)) one.now = works ? standing::wired : standing::ready;
  }
  stale_ = false;
  was_wired_ = true;
  return present;
}

bool stage_roster::is_stage_actor(const caf::actor_addr& address) const {
  return std::ranges::any_of(members_, [&](const auto& each) {
    return each.second.now != standing::lost && each.second.now != standing::gone &&
           each.second.actor.address() == address;
  });
}

bool stage_roster::all_gone() const {
  return std::ranges::all_of(members_, [](const auto& each) {
    return each.second.now == standing::gone || each.second.now == standing::lost;
  });
}

}  // namespace troupe
