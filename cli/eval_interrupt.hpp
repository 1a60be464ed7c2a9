#pragma once

#include <mutex>

#include "interrupt.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::cli {

/// What SIGINT and SIGTERM do to an evaluation: the first drains it, the second stops it at once, a third ends the
/// process with status 130 whatever is going on; so does the first while the model is still being loaded. After
/// detach() the first two change nothing any more. Lives to the end of the process: without it a signal that comes
/// while the program ends would kill it, although the result is out.
class eval_interrupt {
 public:
  /// Before any other thread. E0614.
  [[nodiscard]] static expected<eval_interrupt*> start();
  eval_interrupt(const eval_interrupt&) = delete;
  eval_interrupt& operator=(const eval_interrupt&) = delete;
  /// `evaluation` must live until detach().
  void attach(evaluator& evaluation);
  void detach();

 private:
  eval_interrupt() = default;
  void interrupted(int times);

  std::mutex mutex_;
  evaluator* evaluation_ = nullptr;
  bool detached_ = false;
  std::unique_ptr<interrupt_watch> watch_;
};

}  // namespace troupe::cli
