#include "runtime/inject/message_trigger.hpp"

#include <utility>

#include "runtime/fault/fault_draw.hpp"

namespace troupe {

message_trigger::message_trigger(fault what, std::shared_ptr<const run_start> start, may_inject may)
    : what_(std::move(what)), start_(std::move(start)), may_(std::move(may)) {}

/// In [0, 1), from the plan's seed and the message's number alone.
double message_trigger::draw(std::uint64_t salt) const noexcept {
  return draw_for(what_.when.seed, messages_, salt).share();
}

/// From when on what lasts does. A time of the run is the same moment for all processes, and for a worker that came
/// later.
std::optional<message_trigger::time_point> message_trigger::beginning() const {
  if (what_.when.kind != fault_trigger_kind::time) return began_;
  const auto start = start_->began();
  if (!start) return std::nullopt;
  return *start + what_.when.after;
}

/// Whether this message, or this moment, is the one that the trigger names.
bool message_trigger::begins(time_point now) const {
  switch (what_.when.kind) {
    case fault_trigger_kind::always:
      return true;
    case fault_trigger_kind::message:
    case fault_trigger_kind::micro_batch:
      return messages_ >= what_.when.number;
    case fault_trigger_kind::time:
      return beginning() && now >= *beginning();
    case fault_trigger_kind::probability:
      return draw(0) < what_.when.probability;
    default:
      return false;  // a moment of a step: no message has it
  }
}

/// What has a moment and no "for" happens once, but for a partition, which then stays.
bool message_trigger::is_over(time_point now) const {
  if (forbidden_) return true;
  if (what_.lasts) return beginning() && now - *beginning() >= *what_.lasts;
  const bool once = what_.when.kind == fault_trigger_kind::message || what_.when.kind == fault_trigger_kind::time ||
                    what_.when.kind == fault_trigger_kind::micro_batch;
  return once && what_.kind != fault_kind::partition && hits_ > 0;
}

bool message_trigger::inject(time_point now) {
  forbidden_ = may_ && !may_(hits_ == 0);
  if (forbidden_) return false;
  if (!began_) began_ = now;
  ++hits_;
  return true;
}

bool message_trigger::hits(time_point now) {
  const std::lock_guard lock(mutex_);
  ++messages_;
  if (what_.kind == fault_kind::partition || is_over(now) || !begins(now)) return false;
  return inject(now);
}

bool message_trigger::is_active(time_point now) {
  const std::lock_guard lock(mutex_);
  if (what_.kind != fault_kind::partition || is_over(now)) return false;
  return began_ || (begins(now) && inject(now));
}

std::chrono::nanoseconds message_trigger::lateness() {
  const std::lock_guard lock(mutex_);
  return lateness_of(what_, draw(1));
}

}  // namespace troupe
