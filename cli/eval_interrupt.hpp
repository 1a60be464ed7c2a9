#pragma once

#include <mutex>

#include <troupe/actors/evaluator.hpp>

#include "interrupt.hpp"

namespace troupe::cli {

/// What SIGINT and SIGTERM do to an evaluation: the first drains it, the second stops it at once, a third ends the
/// process with status 130 whatever is going on; so does the first while the model is still being loaded. Make it
/// before any thread.
class eval_interrupt {
 public:
  eval_interrupt();
  /// `evaluation` must live until detach().
  void attach(evaluator& evaluation);
  void detach();

 private:
  void interrupted(int times);

  std::mutex mutex_;
  evaluator* evaluation_ = nullptr;
  bool detached_ = false;
  interrupt_watch watch_;  // last: its thread uses the others
};

}  // namespace troupe::cli
