#include "interrupt.hpp"

#include <array>
#include <cstdint>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <troupe/messages/check.hpp>

namespace troupe::cli {

interrupt_watch::interrupt_watch(std::function<void(int times)> on_interrupt) {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &watched, &before_);
  signals_ = ::signalfd(-1, &watched, SFD_CLOEXEC);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  TROUPE_CHECK(signals_ >= 0 && stop_ >= 0, "a program at its start has file descriptors left");
  thread_ = std::thread([this, call = std::move(on_interrupt)] { watch(call); });
}

interrupt_watch::~interrupt_watch() {
  const std::uint64_t one = 1;
  TROUPE_CHECK(::write(stop_, &one, sizeof one) == sizeof one, "an eventfd takes its first count");
  thread_.join();
  ::close(signals_);
  ::close(stop_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void interrupt_watch::watch(const std::function<void(int)>& on_interrupt) const {
  std::array<pollfd, 2> waited = {{{signals_, POLLIN, 0}, {stop_, POLLIN, 0}}};
  for (int times = 0;;) {
    if (::poll(waited.data(), waited.size(), -1) < 0) continue;
    if (waited[1].revents != 0) return;
    signalfd_siginfo received{};
    if (::read(signals_, &received, sizeof received) == sizeof received) on_interrupt(++times);
  }
}

}  // namespace troupe::cli
