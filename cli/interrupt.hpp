#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe::cli {

/// Turns SIGINT and SIGTERM into calls from a thread of its own, where anything may be done, unlike in a handler. While
/// it lives both are blocked in the thread that made it and in all threads that one starts, so make it before any
/// other.
class interrupt_watch {
 public:
  /// `on_interrupt` is called with 1 for the first signal, 2 for the second, and so on; one call at a time. E0614
  /// without a descriptor or a thread.
  [[nodiscard]] static expected<std::unique_ptr<interrupt_watch>> start(std::function<void(int times)> on_interrupt);
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;
  /// Joins the thread and unblocks the signals.
  ~interrupt_watch();

 private:
  interrupt_watch() = default;
  void watch(const std::function<void(int)>& on_interrupt) const;

  sigset_t before_{};
  unique_fd signals_;
  unique_fd stop_;
  std::thread thread_;
};

}  // namespace troupe::cli
