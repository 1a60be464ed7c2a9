#include "actors/link/link_watch.hpp"

#include <csignal>
#include <string>

#include <pthread.h>
#include <sys/socket.h>

#include "messages/limits.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

using std::chrono::nanoseconds;
using clock = std::chrono::steady_clock;

/// Handlers of the program around it run in its own threads; faults are this one's.
void block_signals() {
  sigset_t set;
  ::sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) ::sigdelset(&set, fault);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

void watched_link::closed() {
  const std::lock_guard lock(mutex_);
  socket_ = -1;
}

void watched_link::shut_down() {
  const std::lock_guard lock(mutex_);
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

link_watch::link_watch(std::chrono::milliseconds timeout, std::chrono::milliseconds interval)
    : timeout_(timeout), interval_(interval), freezes_(limits::frozen_after_heartbeats * interval) {}

link_watch::~link_watch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

expected<void> link_watch::start() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return {};
  return start_thread("control plane", [this] { run(); }).map([this](std::thread&& started) {
    thread_ = std::move(started);
  });
}

std::shared_ptr<watched_link> link_watch::watch(int socket) {
  auto made = std::make_shared<watched_link>(socket);
  const std::lock_guard lock(mutex_);
  links_.push_back(made);
  return made;
}

void link_watch::run() {
  block_signals();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    look(clock::now().time_since_epoch());
    changed_.wait_for(lock, interval_);
  }
}

void link_watch::look(nanoseconds now) {
  freezes_.look(now);
  std::erase_if(links_, [&](const std::weak_ptr<watched_link>& each) {
    const auto link = each.lock();
    if (link == nullptr) return true;
    if (freezes_.lasted(nanoseconds{link->heard_at_.load(std::memory_order_relaxed)}, now) > timeout_) {
      link->shut_down();
    }
    return false;
  });
}

}  // namespace troupe
