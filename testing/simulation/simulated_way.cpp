// What happens to messages between a driver and a worker: loss, delay, repetition, order.
#include <algorithm>
#include <utility>

#include "messages/codec/dispatch.hpp"
#include "runtime/link/liveness.hpp"
#include "testing/simulation/simulated_process.hpp"

namespace troupe::simulation {
namespace {

constexpr nanoseconds beat_time = liveness{}.heartbeat() / 2;

}  // namespace

bool simulated_process::is_hit(fault_kind by) const {
  return std::ranges::any_of(around_.what.faults, [&](const fault& each) {
    const nanoseconds begins = start_of_time + std::chrono::microseconds{each.at_us};
    return each.kind == by && meant_for_ == stage_address{each.stage, each.replica} && begins <= around_.now &&
           around_.now < begins + std::chrono::microseconds{each.for_us} && around_.random.below(100) < each.index;
  });
}

/// The first of its kind, however it is packed.
bool simulated_process::is_lost_by_plan(std::span<const std::byte> message) const {
  const auto kind = codec::kind_of(message);
  if (!kind) return false;
  if (*kind == message_kind::numbered_message) {
    const auto numbered = codec::decode<numbered_message>(message);
    return numbered && is_lost_by_plan(numbered->message);
  }
  const auto found = std::ranges::find_if(around_.armed, [&](const fault& each) {
    return each.kind == fault_kind::lose_message && meant_for_ == stage_address{each.stage, each.replica} &&
           static_cast<std::uint64_t>(*kind) == each.index;
  });
  if (found == around_.armed.end()) return false;
  around_.armed.erase(found);
  return true;
}

void simulated_process::put_on_way(codec::bytes message, nanoseconds& last,
                                   const std::function<void(codec::bytes)>& arrive) {
  beat_soon();
  if (is_hit(fault_kind::lose_messages) || is_lost_by_plan(message)) return;
  const bool comes_late = is_hit(fault_kind::reorder_messages);
  const nanoseconds due = std::max(last, around_.now + nanoseconds{around_.random.between(5'000, 400'000)});
  const auto put = [&](nanoseconds when) { around_.later.at(when, [arrive, message] { arrive(message); }); };
  if (is_hit(fault_kind::double_messages)) put(due + nanoseconds{around_.random.between(0, 1'000'000)});
  put(comes_late ? due + nanoseconds{around_.random.between(0, 100'000'000)} : due);
  if (!comes_late) last = due;
}

/// As long as something may be said again.
void simulated_process::beat_soon() {
  beats_left_ = limits::message_repeat_beats + 1;
  if (!std::exchange(is_beating_, true)) around_.later.at(around_.now + beat_time, [this] { beat(); });
}

void simulated_process::beat() {
  is_beating_ = false;
  if (is_end_told_ || is_unlinked_) return;
  const std::uint32_t left = --beats_left_;
  if (lives() && !is_frozen() && below_driver_->events.on_beat) below_driver_->events.on_beat();
  if (below_worker_->events.on_beat) below_worker_->events.on_beat();
  if (left == 0 || std::exchange(is_beating_, true)) return;
  around_.later.at(around_.now + beat_time, [this] { beat(); });
}

}  // namespace troupe::simulation
