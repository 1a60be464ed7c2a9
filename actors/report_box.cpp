#include "actors/report_box.hpp"

#include <utility>

namespace troupe {

void report_box::put(const call_progress& progress) {
  const std::lock_guard lock{mutex_};
  waiting_.progress = progress;
  changed_.notify_one();
}

void report_box::put(log_record record) {
  const std::lock_guard lock{mutex_};
  if (copies_) copies_(record);
  if (waiting_.log_lines.size() == limits::log_lines_max) {
    waiting_.log_lines.pop_front();
    ++waiting_.lines_lost;
  }
  waiting_.log_lines.push_back(std::move(record));
  changed_.notify_one();
}

void report_box::copy_log_to(log_function receiver) {
  const std::lock_guard lock{mutex_};
  copies_ = std::move(receiver);
  for (const log_record& each : waiting_.log_lines) copies_(each);
}

void report_box::wake() {
  const std::lock_guard lock{mutex_};
  woken_ = true;
  changed_.notify_one();
}

report_box::reports report_box::take(std::chrono::nanoseconds at_most) {
  std::unique_lock lock{mutex_};
  changed_.wait_for(lock, at_most, [this] { return woken_ || waiting_.progress || !waiting_.log_lines.empty(); });
  woken_ = false;
  return std::exchange(waiting_, {});
}

}  // namespace troupe
