#include "eval_interrupt.hpp"

#include <cstdlib>

#include "output.hpp"

namespace troupe::cli {

eval_interrupt::eval_interrupt() : watch_([this](int times) { interrupted(times); }) {}

void eval_interrupt::attach(evaluator& evaluation) {
  const std::lock_guard lock(mutex_);
  evaluation_ = &evaluation;
}

void eval_interrupt::detach() {
  const std::lock_guard lock(mutex_);
  evaluation_ = nullptr;
  detached_ = true;
}

void eval_interrupt::interrupted(int times) {
  const std::lock_guard lock(mutex_);
  if (detached_) return;
  if (evaluation_ == nullptr || times > 2) {
    say(times > 2 ? "\ninterrupted: ending without a result\n" : "\ninterrupted before anything was evaluated\n");
    std::_Exit(static_cast<int>(exit_status::interrupted));
  }
  if (times == 1) {
    say("\ninterrupted: finishing what is under way; interrupt again to stop at once\n");
    evaluation_->request_stop(stop_kind::drain);
  } else {
    say("\ninterrupted again: stopping at once\n");
    evaluation_->request_stop(stop_kind::now);
  }
}

}  // namespace troupe::cli
