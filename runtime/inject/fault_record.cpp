#include "runtime/inject/fault_record.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace troupe {

fault_record::fault_record(fault_plan plan, log_function log)
    : plan_(std::move(plan)), log_(std::move(log)), entries_(plan_.faults().size()) {}

bool fault_record::spend(std::size_t number, std::optional<micro_batch_id> at) {
  return count(number, at, true);
}

void fault_record::note(std::size_t number, std::optional<micro_batch_id> at) {
  static_cast<void>(count(number, at, false));
}

/// The first time is told.
bool fault_record::count(std::size_t number, std::optional<micro_batch_id> at, bool only_once) {
  const auto began = start_->began();
  entry now;
  {
    const std::lock_guard lock{mutex_};
    entry& one = entries_[number];
    if (only_once && one.times > 0) return false;
    if (++one.times > 1) return true;
    one.after = began ? run_start::clock::now() - *began : std::chrono::nanoseconds{0};
    one.micro_batch = at;
    now = one;
  }
  injected_.fetch_add(1, std::memory_order_relaxed);
  tell(number, now);
  return true;
}

/// Without the lock: who logs may wait for a lock of its own.
void fault_record::tell(std::size_t number, const entry& now) const {
  if (!log_) return;
  log_({.level = log_level::warning,
        .text = fmt::format("fault {} was injected after {:.3f} s{}", to_string(plan_.faults()[number]),
                            std::chrono::duration<double>(*now.after).count(),
                            now.micro_batch ? ", at " + to_string(*now.micro_batch) : "")});
}

void fault_record::give_up(std::size_t number, std::string why) {
  if (log_)
    log_({.level = log_level::warning, .text = fmt::format("fault {}: {}", to_string(plan_.faults()[number]), why)});
  const std::lock_guard lock{mutex_};
  entries_[number].note = std::move(why);
}

void fault_record::cost(std::size_t number, std::optional<std::chrono::nanoseconds> recovery_time,
                        std::uint64_t replayed) {
  const std::lock_guard lock{mutex_};
  entry& one = entries_[number];
  if (recovery_time) one.recovery_time = one.recovery_time.value_or(std::chrono::nanoseconds{0}) + *recovery_time;
  one.replayed += replayed;
}

void fault_record::dropped(std::size_t number, std::uint64_t duplicates) {
  const std::lock_guard lock{mutex_};
  entries_[number].duplicates_dropped += duplicates;
}

bool fault_record::is_spent(std::size_t number) const {
  const std::lock_guard lock{mutex_};
  return entries_[number].times > 0;
}

std::vector<fault_record::entry> fault_record::entries() const {
  const std::lock_guard lock{mutex_};
  return entries_;
}

}  // namespace troupe
