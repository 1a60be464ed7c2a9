#include "runtime/inject/fault_clock.hpp"

#include <utility>

#include "runtime/os/start_thread.hpp"

namespace troupe {

expected<void> fault_clock::start() {
  return start_thread("fault clock", [this] { run(); }).map([this](std::thread&& made) { thread_ = std::move(made); });
}

void fault_clock::at(time_point when, std::function<void()> what) {
  const std::lock_guard lock{mutex_};
  due_.emplace(when, std::move(what));
  changed_.notify_one();
}

void fault_clock::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void fault_clock::run() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    if (due_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const time_point next = due_.begin()->first;
    if (std::chrono::steady_clock::now() < next) {
      changed_.wait_until(lock, next);
      continue;
    }
    const auto what = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    lock.unlock();
    what();
    lock.lock();
  }
}

}  // namespace troupe
