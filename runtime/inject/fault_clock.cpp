#include "runtime/inject/fault_clock.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/os/start_thread.hpp"

namespace troupe {

/// The functions to call, by time. Threads: any; one of them is in run().
class fault_clock::agenda {
 public:
  void add(time_point when, std::function<void()> what) {
    const std::lock_guard lock{mutex_};
    due_.emplace(when, std::move(what));
    changed_.notify_one();
  }

  void stop() {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    changed_.notify_one();
  }

  void run() {
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

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<time_point, std::function<void()>> due_;
  bool stopping_ = false;
};

fault_clock::fault_clock() : agenda_(std::make_shared<agenda>()) {}

expected<void> fault_clock::start() {
  return start_thread("fault clock", [agenda = agenda_] { agenda->run(); }).map([this](std::thread&& made) {
    thread_ = std::move(made);
  });
}

void fault_clock::at(time_point when, std::function<void()> what) {
  agenda_->add(when, std::move(what));
}

void fault_clock::stop() {
  agenda_->stop();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) return thread_.detach();
  thread_.join();
}

}  // namespace troupe
