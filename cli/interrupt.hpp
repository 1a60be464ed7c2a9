#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace troupe::cli {

/// Turns SIGINT and SIGTERM into calls from a thread of its own, where anything may be done, unlike in a handler. While
/// it lives both are blocked in the thread that made it and in all threads that one starts, so make it before any
/// other.
class interrupt_watch {
 public:
  /// Called with 1 for the first signal, 2 for the second, and so on; one call at a time.
  explicit interrupt_watch(std::function<void(int times)> on_interrupt);
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;
  /// Joins the thread and unblocks the signals.
  ~interrupt_watch();

 private:
  void watch(const std::function<void(int)>& on_interrupt) const;

  sigset_t before_{};
  int signals_ = -1;
  int stop_ = -1;
  std::thread thread_;
};

}  // namespace troupe::cli
