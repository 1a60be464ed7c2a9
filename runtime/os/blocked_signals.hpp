#pragma once

#include <csignal>
#include <initializer_list>

#include <pthread.h>

namespace troupe {

/// While it lives the thread, and threads that it starts, take no signals but those of faults: signals to the process
/// are for its other threads, with their handlers and their signalfd. A fault that is blocked would kill without a
/// trace.
class blocked_signals {
 public:
  blocked_signals() noexcept {
    const sigset_t blocked = all_but_faults();
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;
  ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  [[nodiscard]] static sigset_t all_but_faults() noexcept {
    sigset_t set;
    ::sigfillset(&set);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) ::sigdelset(&set, fault);
    return set;
  }

  sigset_t before_{};
};

}  // namespace troupe
