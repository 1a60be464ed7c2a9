#pragma once

#include <csignal>
#include <optional>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// SIGINT, SIGTERM and SIGHUP as something to read, for as long as this object lives. Those that this process was
/// started to ignore (nohup, a shell's '&') stay so, but SIGTERM. The signals are blocked in the thread that makes it
/// and in those that it starts: the process has no other thread.
class stop_signals {
 public:
  [[nodiscard]] static expected<stop_signals> make();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  stop_signals(stop_signals&& other) noexcept;
  stop_signals& operator=(stop_signals&&) = delete;
  /// The signals are as they were. One that still waits does what it does then.
  ~stop_signals();

  /// For poll().
  [[nodiscard]] int fd() const noexcept { return signals_.get(); }
  /// The next one; nothing if there is none now.
  [[nodiscard]] std::optional<int> take() const;

 private:
  stop_signals() = default;
  sigset_t before_{};
  unique_fd signals_;
};

}  // namespace troupe
