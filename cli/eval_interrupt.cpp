#include "eval_interrupt.hpp"

#include <cstdlib>
#include <utility>

#include "messages/try.hpp"
#include "output.hpp"

namespace troupe::cli {

expected<eval_interrupt*> eval_interrupt::start() {
  static eval_interrupt* const to_the_end = new eval_interrupt;
  to_the_end->watch_ = TROUPE_TRY(interrupt_watch::start([](int times) { to_the_end->interrupted(times); }));
  return to_the_end;
}

void eval_interrupt::attach(std::function<void(stop_kind)> stop) {
  const std::lock_guard lock(mutex_);
  stop_ = std::move(stop);
}

void eval_interrupt::detach() {
  const std::lock_guard lock(mutex_);
  stop_ = nullptr;
  detached_ = true;
}

/// Acts before it says so, and says it only to a reader that reads: a full pipe must not keep the run from ending.
void eval_interrupt::interrupted(int times) {
  const std::lock_guard lock(mutex_);
  if (detached_ && times <= 2) return;
  if (stop_ == nullptr || times > 2) {
    say_if_read(detached_   ? "\ninterrupted: ending at once\n"
                : times > 2 ? "\ninterrupted: ending without a result\n"
                            : "\ninterrupted before anything was evaluated\n");
    std::_Exit(static_cast<int>(exit_status::interrupted));
  }
  if (times == 1) {
    stop_(stop_kind::drain);
    say_if_read("\ninterrupted: finishing what is under way; interrupt again to stop at once\n");
  } else {
    stop_(stop_kind::now);
    say_if_read("\ninterrupted again: stopping at once\n");
  }
}

}  // namespace troupe::cli
