#include "program/run/hook_caller.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

template <class Hook, class Report>
void call(const Hook& hook, const Report& report) noexcept {
  if (!hook) return;
  try {
    hook(report);
  } catch (...) {
    // It got its report.
  }
}

log_record losses(std::uint64_t lines) {
  const char* noun = lines == 1 ? " line" : " lines";
  return {log_level::warning, std::to_string(lines) + noun + " of the log were lost: its reader is too slow"};
}

}  // namespace

struct hook_caller::queue {
  evaluation_hooks hooks;
  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable delivered;
  std::deque<log_record> lines;
  std::uint64_t lost = 0;
  std::optional<progress_update> progress;
  bool closed = false;
  /// Hooks have reports that were taken from here.
  bool delivering = false;

  [[nodiscard]] bool is_empty() const { return lines.empty() && lost == 0 && !progress; }
  void deliver();
};

/// Ends when there is nothing left and nothing more can come. What the hooks own goes here, too: a log may have a last
/// line to write.
void hook_caller::queue::deliver() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return closed || !is_empty(); });
    if (is_empty()) break;
    delivering = true;
    const auto missing = std::exchange(lost, 0);
    const auto taken = std::exchange(lines, {});
    const auto newest = std::exchange(progress, std::nullopt);
    lock.unlock();
    if (missing > 0) call(hooks.on_log, losses(missing));
    for (const log_record& record : taken) call(hooks.on_log, record);
    if (newest) call(hooks.on_progress, *newest);
    lock.lock();
    delivering = false;
    delivered.notify_all();
  }
  const evaluation_hooks done = std::exchange(hooks, {});
  lock.unlock();
}

expected<std::shared_ptr<hook_caller>> hook_caller::start(evaluation_hooks hooks) {
  auto waiting = std::make_shared<queue>();
  waiting->hooks = std::move(hooks);
  std::shared_ptr<hook_caller> made(new hook_caller(waiting));
  if (!waiting->hooks.on_log && !waiting->hooks.on_progress) {
    waiting->closed = true;
    return made;
  }
  auto thread = TROUPE_TRY(side_thread::start("hooks", [waiting](const std::stop_token&) { waiting->deliver(); }));
  made->thread_.emplace(std::move(thread));
  return made;
}

hook_caller::~hook_caller() {
  finish(limits::hooks_finish_time);
}

void hook_caller::put(const progress_update& progress) {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->closed) return;
  queue_->progress = progress;
  queue_->changed.notify_one();
}

void hook_caller::put(log_record record) {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->closed) return;
  if (queue_->lines.size() == limits::log_lines_max) {
    queue_->lines.pop_front();
    ++queue_->lost;
  }
  queue_->lines.push_back(std::move(record));
  queue_->changed.notify_one();
}

void hook_caller::lost(std::uint64_t records) {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->closed) return;
  queue_->lost += records;
  queue_->changed.notify_one();
}

bool hook_caller::flush(std::chrono::nanoseconds at_most) {
  std::unique_lock lock(queue_->mutex);
  return queue_->delivered.wait_for(lock, at_most, [&] { return queue_->is_empty() && !queue_->delivering; });
}

bool hook_caller::finish(std::chrono::nanoseconds at_most) {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->closed = true;
    queue_->changed.notify_one();
  }
  return !thread_ || thread_->end_by(std::chrono::steady_clock::now() + at_most);
}

}  // namespace troupe
