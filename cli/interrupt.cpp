#include "interrupt.hpp"

#include <array>
#include <cstdint>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/resource_check.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe::cli {
namespace {

/// Keys of a terminal have no sender, and a process that sends to itself means each.
bool may_repeat(const signalfd_siginfo& signal) {
  return signal.ssi_pid != 0 && signal.ssi_pid != static_cast<std::uint32_t>(::getpid());
}

bool is_repeat(const signalfd_siginfo& first, const signalfd_siginfo& next) {
  return next.ssi_signo == first.ssi_signo && next.ssi_pid == first.ssi_pid;
}

/// As nohup leaves SIGHUP. A watch would see it all the same.
bool is_ignored(int signal) {
  struct sigaction now = {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

expected<std::unique_ptr<interrupt_watch>> interrupt_watch::start(std::function<void(int times)> on_interrupt) {
  if (auto room = ensure_resources({.where = "interrupt watch", .threads = 1, .descriptors = 2}); !room) {
    return tl::make_unexpected(room.error());
  }
  std::unique_ptr<interrupt_watch> made(new interrupt_watch);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGTERM);
  if (!is_ignored(SIGHUP)) sigaddset(&watched, SIGHUP);
  made->signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC));
  made->stop_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!made->signals_ || !made->stop_) {
    return fail(error_code::process_failed, "interrupt watch", errno_text(),
                "Raise the limit of open files (ulimit -n)");
  }
  pthread_sigmask(SIG_BLOCK, &watched, &made->before_);
  auto thread =
      start_thread("interrupt watch", [self = made.get(), call = std::move(on_interrupt)] { self->watch(call); });
  if (!thread) {
    pthread_sigmask(SIG_SETMASK, &made->before_, nullptr);
    return tl::make_unexpected(thread.error());
  }
  made->thread_ = std::move(*thread);
  return made;
}

interrupt_watch::~interrupt_watch() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  TROUPE_CHECK(::write(stop_.get(), &one, sizeof one) == sizeof one, "an eventfd takes its first count");
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void interrupt_watch::watch(const std::function<void(int)>& on_interrupt) const {
  for (int times = 0; const auto first = next(-1);) {
    // A reader of what the call says may answer it with a signal: so repeats are those that come before the call.
    const auto second =
        may_repeat(*first) ? next(static_cast<int>(limits::interrupt_repeat_time.count())) : std::nullopt;
    on_interrupt(++times);
    if (second && !is_repeat(*first, *second)) on_interrupt(++times);
  }
}

std::optional<signalfd_siginfo> interrupt_watch::next(int time_out_ms) const {
  std::array<pollfd, 2> waited = {{{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  for (;;) {
    const int ready = ::poll(waited.data(), waited.size(), time_out_ms);
    if (ready < 0) continue;
    if (ready == 0 || waited[1].revents != 0) return std::nullopt;
    signalfd_siginfo received{};
    if (::read(signals_.get(), &received, sizeof received) == sizeof received) return received;
  }
}

}  // namespace troupe::cli
