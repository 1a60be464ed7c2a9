// What a driver has let go when its last engine stopped, and what it keeps where a plan says so.
#include <utility>

#include "testing/simulation/driver_life.hpp"

namespace troupe::simulation {
namespace {

constexpr int timers_planted = 200;

}  // namespace

/// When its last engine has stopped: what goes with a process is not counted later.
void driver_life::note_left() {
  if (parts_.left.is_planted(leftover::edge)) keep_an_end();
  if (parts_.left.is_planted(leftover::timer)) keep_timers();
  const auto note = [this](leftover kind, std::uint64_t count) {
    parts_.seen.note({.at_ns = around_.now.count(),
                      .what = happening::left,
                      .index = static_cast<std::uint64_t>(kind),
                      .value = count});
  };
  note(leftover::edge, network_->open_ends());
  note(leftover::timer, around_.scheduler().clock().schedule().size());
}

void driver_life::keep_an_end() {
  const std::uint64_t number = network_->make({.slots = 1}).words.front();
  auto end = network_->of(own_process_)->open_producer({.offer = {.memory = std::nullopt, .words = {number}}});
  if (end) kept_end_ = std::move(*end);
}

void driver_life::keep_timers() {
  auto& clock = around_.scheduler().clock();
  for (int left = timers_planted; left > 0; --left) {
    clock.schedule_message(clock.now() + 1h, caf::actor_cast<caf::strong_actor_ptr>(pool_),
                           caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, caf::unit));
  }
}

}  // namespace troupe::simulation
