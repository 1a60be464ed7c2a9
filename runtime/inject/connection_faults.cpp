#include "runtime/inject/connection_faults.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

steady::time_point end_of(const fault& silence, steady::time_point now) {
  if (!silence.lasts) return steady::time_point::max();
  return now + *silence.lasts;
}

flow against(flow way) {
  return way == flow::in ? flow::out : flow::in;
}

}  // namespace

bool damages_bytes(const fault& one) {
  return one.kind == fault_kind::corrupt || one.kind == fault_kind::truncate;
}

bool is_of_connection(const fault& one) {
  return one.kind == fault_kind::half_open || one.kind == fault_kind::close;
}

connection_faults::connection_faults(message_triggers triggers, flow forward)
    : triggers_(std::move(triggers)), forward_(forward) {}

arrival_faults::damage connection_faults::next_message() noexcept {
  damage found = damage::none;
  for (const auto& each : triggers_) {
    const fault& what = each->what();
    if (what.kind == fault_kind::partition || !each->hits()) continue;
    if (is_of_connection(what)) {
      begin(what);
    } else if (found == damage::none) {
      found = what.kind == fault_kind::truncate ? damage::cut : damage::flipped;
    }
  }
  return found;
}

bool connection_faults::is_silenced(flow way) const noexcept {
  const bool is_partitioned = std::ranges::any_of(triggers_, [](const auto& each) { return each->is_active(); });
  return is_partitioned || steady::now() < state_of(way).silent_until;
}

bool connection_faults::is_closed(flow way) const noexcept {
  return state_of(way).is_closed;
}

void connection_faults::begin(const fault& what) {
  const auto now = steady::now();
  const bool only_back = what.direction == fault_direction::back;
  const bool only_forward = what.direction == fault_direction::forward;
  const std::lock_guard lock(mutex_);
  for (const flow way : {forward_, against(forward_)}) {
    if (way == forward_ ? only_back : only_forward) continue;
    one_way& mine = ways_.at(static_cast<std::size_t>(way));
    mine.is_closed = mine.is_closed || what.kind == fault_kind::close;
    // hit again meanwhile, it does not last longer
    if (what.kind == fault_kind::half_open && mine.silent_until <= now) mine.silent_until = end_of(what, now);
  }
}

connection_faults::one_way connection_faults::state_of(flow way) const noexcept {
  const std::lock_guard lock(mutex_);
  return ways_.at(static_cast<std::size_t>(way));
}

}  // namespace troupe
