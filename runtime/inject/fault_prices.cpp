#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/fault/fault_shape.hpp"
#include "runtime/inject/fault_injector.hpp"

// What the faults of a run have cost; fault_injector.cpp has how they are injected.
namespace troupe {
namespace {

using steady = std::chrono::steady_clock;
using target = fault_target_kind;

}  // namespace

/// A freeze or a silence that was over before.
bool fault_injector::was_over(std::size_t number, const fault_record::entry& known,
                              std::chrono::nanoseconds since_loss) const {
  const auto& lasts = faults()[number].lasts;
  const auto began = record_.start()->began();
  if (!lasts || !known.after || !began) return false;
  return *known.after + *lasts < steady::now() - *began - since_loss;
}

void fault_injector::dropped(std::uint64_t so_far) {
  const std::lock_guard lock{mutex_};
  const std::uint64_t now = std::max(so_far, dropped_seen_);  // a call that was refused knows of none
  const std::uint64_t more = now - std::exchange(dropped_seen_, now);
  if (priced_last_) record_.dropped(*priced_last_, more);
}

hosted_worker_ptr fault_injector::lost_worker(const recovery_note& note) {
  const std::lock_guard lock{mutex_};
  const auto found = std::ranges::find_if(
      watched_, [&](const watched_worker& each) { return each.at == note.stage && each.worker->rank() == note.rank; });
  return found == watched_.end() ? nullptr : found->worker;
}

/// The first fault that hit this, was not over by then and has no price yet; else one that has, else one that was.
/// A forward that was only slow may have cost its process by a deadline: where no other fault is to blame.
std::optional<std::size_t> fault_injector::blame(const recovery_note& note, const hosted_worker_ptr& lost) const {
  const auto entries = record_.entries();
  std::optional<std::size_t> who;
  std::optional<std::size_t> slow;
  for (std::size_t number = 0; number < entries.size(); ++number) {
    const fault& one = faults()[number];
    if (entries[number].times == 0) continue;
    const bool is_slow = one.kind == fault_kind::slow && lost && hits(one, *note.stage, lost->rank());
    if (is_slow && !slow) slow = number;
    const bool is_deadly =
        note.stage ? lost && takes_worker(one, *note.stage, *lost)
                   : one.who.kind == target::loader || one.who.kind == target::aggregator || breaks_messages(one);
    if (!is_deadly) continue;
    const auto doubts = [&](std::size_t about) {
      return std::pair(was_over(about, entries[about], note.took), entries[about].recovery_time.has_value());
    };
    if (!who || doubts(number) < doubts(*who)) who = number;
  }
  return who ? who : slow;
}

void fault_injector::recovered(const recovery_note& note) {
  look();
  const std::optional<std::size_t> who = blame(note, lost_worker(note));
  dropped(note.dropped_so_far);
  const std::lock_guard lock{mutex_};
  priced_last_ = who;
  if (who) record_.cost(*who, note.is_whole ? std::optional(note.took) : std::nullopt, note.sent_again);
}

}  // namespace troupe
