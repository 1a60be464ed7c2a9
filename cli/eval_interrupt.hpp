#pragma once

#include <mutex>

#include "interrupt.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::cli {

/// What SIGINT, SIGTERM and SIGHUP, counted together, do to `troupe eval`. The first drains the evaluation, the second
/// stops it at once. Before attach() there is nothing to drain: the first ends the process with status 130. A third
/// does so at any time. After detach() the result is being written, and the first two change nothing.
///
/// The one instance lives to the end of the process: without it a signal that comes while the program ends would kill
/// it, although the result is out. attach() and detach(): once each, any thread.
class eval_interrupt {
 public:
  /// Once, before another thread starts, as threads inherit which signals are blocked. The object is never destroyed.
  /// E0614: the system gives no thread.
  [[nodiscard]] static expected<eval_interrupt*> start();
  eval_interrupt(const eval_interrupt&) = delete;
  eval_interrupt& operator=(const eval_interrupt&) = delete;
  /// From now on signals are for `evaluation`, which must live until detach().
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
