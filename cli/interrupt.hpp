#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <sys/signalfd.h>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe::cli {

/// Turns SIGINT, SIGTERM and, unless it is ignored, SIGHUP into calls from a thread of its own, where anything may be
/// done, unlike in a handler. While the watch lives they are blocked in the thread that called start() and in all
/// threads that this one starts; in a thread from before a signal still ends the process. Child processes inherit the
/// block: spawn() (runtime/process/spawn.hpp) lifts it in those that it starts, fork and exec alone do not.
class interrupt_watch {
 public:
  /// The process must not have another thread yet. `on_interrupt` gets 1 for the first signal, 2 for the second, and so
  /// on, all counted together; one call at a time. Equal signals that come during a call count as one,
  /// and two that another process sends within limits::interrupt_repeat_time, as GNU timeout does. E0614 without a
  /// descriptor or a thread; the signals are then as before.
  [[nodiscard]] static expected<std::unique_ptr<interrupt_watch>> start(std::function<void(int times)> on_interrupt);
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;
  /// Joins the watch's thread and gives the calling one its signals back as they were before start(). It must
  /// be the thread that called start(), and never the one of on_interrupt. Threads that were started meanwhile keep the
  /// block. A signal that is still pending now does what it does without a watch.
  ~interrupt_watch();

 private:
  interrupt_watch() = default;
  void watch(const std::function<void(int)>& on_interrupt) const;
  /// The next signal; nothing after `time_out_ms`, or when the watch is to end. Negative: for ever.
  [[nodiscard]] std::optional<signalfd_siginfo> next(int time_out_ms) const;

  sigset_t before_{};
  unique_fd signals_;
  unique_fd stop_;
  std::thread thread_;
};

}  // namespace troupe::cli
