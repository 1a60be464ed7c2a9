#include "runtime/launcher/stop_signals.hpp"

#include <utility>

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/os/errno_text.hpp"

namespace troupe {
namespace {

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

expected<stop_signals> stop_signals::make() {
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGTERM);
  for (const int signal : {SIGINT, SIGHUP}) {
    if (!is_ignored(signal)) ::sigaddset(&watched, signal);
  }
  stop_signals made;
  made.signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!made.signals_) {
    return fail(error_code::process_failed, "signals", "signalfd: " + errno_text(),
                "raise the limit of open files (ulimit -n)");
  }
  ::pthread_sigmask(SIG_BLOCK, &watched, &made.before_);
  return made;
}

stop_signals::stop_signals(stop_signals&& other) noexcept
    : before_(other.before_), signals_(std::move(other.signals_)) {}

stop_signals::~stop_signals() {
  if (signals_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> stop_signals::take() const {
  signalfd_siginfo received{};
  if (::read(signals_.get(), &received, sizeof received) != sizeof received) return std::nullopt;
  return static_cast<int>(received.ssi_signo);
}

}  // namespace troupe
