#include "program/run/side_thread.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "program/run/abandoned_threads.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {

struct side_thread::state {
  std::stop_source stop;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool ended = false;
  bool abandoned = false;

  void end() {
    const std::lock_guard lock(mutex);
    ended = true;
    if (abandoned) remove_abandoned_thread();
    changed.notify_all();
  }
};

expected<side_thread> side_thread::start(const std::string& what, std::function<void(const std::stop_token&)> work) {
  side_thread made(std::make_shared<state>());
  made.thread_ = TROUPE_TRY(start_thread(what, [shared = made.state_, work = std::move(work)]() mutable {
    work(shared->stop.get_token());
    work = nullptr;
    shared->end();
  }));
  return made;
}

side_thread::~side_thread() {
  TROUPE_CHECK(!thread_.joinable(), "a side thread is joined or abandoned by its owner");
}

bool side_thread::has_ended(const std::optional<time_point>& deadline) const {
  std::unique_lock lock(state_->mutex);
  const auto ended = [this] { return state_->ended; };
  if (deadline) return state_->changed.wait_until(lock, *deadline, ended);
  state_->changed.wait(lock, ended);
  return true;
}

bool side_thread::end_by(time_point deadline) {
  state_->stop.request_stop();
  if (!thread_.joinable()) return has_ended(std::chrono::steady_clock::now());
  const bool ended = has_ended(deadline);
  if (ended) {
    thread_.join();
    return true;
  }
  const std::lock_guard lock(state_->mutex);
  thread_.detach();
  if (state_->ended) return true;
  state_->abandoned = true;
  add_abandoned_thread();
  return false;
}

}  // namespace troupe
