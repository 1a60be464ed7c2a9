#include "runtime/inject/assigned_control_faults.hpp"

#include <utility>

#include "messages/limits.hpp"
#include "runtime/fault/fault_shape.hpp"
#include "runtime/inject/armed_faults.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

expected<std::shared_ptr<assigned_control_faults>> assigned_control_faults::start() {
  std::shared_ptr<assigned_control_faults> made(new assigned_control_faults());
  return made->late_messages_.start().map([&] { return std::move(made); });
}

std::shared_ptr<message_link> assigned_control_faults::wrap(std::shared_ptr<message_link> link,
                                                            const std::shared_ptr<engine_page>& page) {
  const std::weak_ptr<assigned_control_faults> weak = weak_from_this();
  const do_later later = [weak](fault_clock::time_point when, std::function<void()> what) {
    if (const auto self = weak.lock()) self->late_messages_.at(when, std::move(what));
  };
  const auto of_worker = [weak, page](const worker_assignment& to) {
    const auto self = weak.lock();
    return self ? self->of(to, page) : message_triggers{};
  };
  return disturb_link(std::move(link), later, of_worker, start_);
}

/// What cannot be read the worker finds, too, and says so.
message_triggers assigned_control_faults::of(const worker_assignment& to, const std::shared_ptr<engine_page>& page) {
  message_triggers found;
  const std::lock_guard lock{mutex_};
  for (const assigned_fault& each : to.faults) {
    const auto what = parse_fault(each.text);
    if (!what || what->who.kind != fault_target_kind::control || each.number >= limits::faults_max) continue;
    shared_trigger& one = triggers_[each.number];
    if (!one.trigger) one.trigger = make_trigger(each.number, *what);
    one.page = page;
    found.push_back(one.trigger);
  }
  return found;
}

std::shared_ptr<message_trigger> assigned_control_faults::make_trigger(std::uint32_t number, const fault& what) {
  return std::make_shared<message_trigger>(what, start_,
                                           [weak = weak_from_this(), number, once = is_once(what)](bool first) {
                                             const auto self = weak.lock();
                                             return self && self->may_inject(number, once, first);
                                           });
}

bool assigned_control_faults::may_inject(std::uint32_t number, bool once, bool first) {
  const std::lock_guard lock{mutex_};
  return mark_injected(*triggers_.at(number).page, number, once, first);
}

}  // namespace troupe
