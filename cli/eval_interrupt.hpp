#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "interrupt.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::cli {

/// Acts on SIGINT, SIGTERM and SIGHUP in `troupe eval` and its like, and counts them together. The first signal stops
/// loading, so that the evaluation ends with the micro-batches that were sent. The second one drops these, too. The
/// third one ends the process at once with status 130. Before attach() there is no evaluation to stop, so the first
/// signal already ends the process. After detach() the result is being written, and the first two signals have no
/// effect.
///
/// The only instance is never destroyed. Without it, a signal during the exit of the program would kill the process,
/// although the result has been written. attach() and detach(): once each, any thread.
class eval_interrupt {
 public:
  /// Once, before another thread starts, as threads inherit which signals are blocked.
  /// E0614: the system gives no thread.
  [[nodiscard]] static expected<eval_interrupt*> start();
  eval_interrupt(const eval_interrupt&) = delete;
  eval_interrupt& operator=(const eval_interrupt&) = delete;
  /// From now on signals are for `evaluation`, which must live until detach().
  void attach(evaluator& evaluation) {
    attach([&](stop_kind kind) { evaluation.request_stop(kind); });
  }
  /// The same for anything that can be stopped so. Any thread calls `stop`, until detach().
  void attach(std::function<void(stop_kind)> stop);
  void detach();

 private:
  eval_interrupt() = default;
  void interrupted(int times);

  std::mutex mutex_;
  std::function<void(stop_kind)> stop_;
  bool detached_ = false;
  std::unique_ptr<interrupt_watch> watch_;
};

}  // namespace troupe::cli
