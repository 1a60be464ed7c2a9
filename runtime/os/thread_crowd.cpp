#include "runtime/os/thread_crowd.hpp"

#include <chrono>
#include <csignal>

#include <sched.h>
#include <unistd.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

/// Handlers of the program around it run in its own threads, not on these small stacks.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

thread_crowd::~thread_crowd() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  over_changed_.notify_all();
  for (const pthread_t each : threads_) ::pthread_join(each, nullptr);
  await_release();
}

/// A thread can be joined a moment before the system stops counting it. By the time its number is gone, it has.
void thread_crowd::await_release() const {
  const auto give_up_at = std::chrono::steady_clock::now() + limits::thread_release_max;
  for (const pid_t each : numbers_) {
    while (::tgkill(::getpid(), each, 0) == 0 && std::chrono::steady_clock::now() < give_up_at) ::sched_yield();
  }
}

std::uint32_t thread_crowd::gather(std::uint32_t wanted, std::size_t stack_bytes) {
  const signals_blocked quiet;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  if (stack_bytes > 0) ::pthread_attr_setstacksize(&attributes, stack_bytes);
  {
    const std::lock_guard lock(mutex_);
    threads_.reserve(threads_.size() + wanted);
    numbers_.reserve(threads_.size() + wanted);
  }
  std::uint32_t given = 0;
  for (pthread_t one{}; given < wanted && ::pthread_create(&one, &attributes, &stand, this) == 0; ++given) {
    threads_.push_back(one);
  }
  ::pthread_attr_destroy(&attributes);
  return given;
}

void* thread_crowd::stand(void* crowd) {
  auto& here = *static_cast<thread_crowd*>(crowd);
  std::unique_lock lock(here.mutex_);
  here.numbers_.push_back(::gettid());
  here.over_changed_.wait(lock, [&] { return here.over_; });
  return nullptr;
}

}  // namespace troupe
