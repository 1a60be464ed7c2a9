#include "runtime/injection/late_deliveries.hpp"

#include <utility>

#include "messages/limits.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {

expected<std::shared_ptr<late_deliveries>> late_deliveries::start() {
  std::shared_ptr<late_deliveries> made(new late_deliveries);
  auto thread = start_thread("faults", [self = made.get()] { self->run(); });
  if (!thread) return tl::make_unexpected(thread.error());
  made->thread_ = std::move(*thread);
  return made;
}

late_deliveries::~late_deliveries() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool late_deliveries::at(time_point due, std::function<void()> act) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= limits::fault_messages_max) return false;
  waiting_.emplace(due, std::move(act));
  changed_.notify_all();
  return true;
}

void late_deliveries::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = waiting_.begin();
    if (first->first > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, time_point(first->first));
      continue;
    }
    const auto act = std::move(waiting_.extract(first).mapped());
    lock.unlock();
    act();
    lock.lock();
  }
}

}  // namespace troupe
