#include "runtime/edge/nccl/nccl_reaper.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/os/start_thread.hpp"

namespace troupe::nccl {

/// Outlives the reaper where a thread is abandoned. The thread that has it is in ended() or waits for work.
struct reaper::queue {
  mutable std::mutex guard;
  std::condition_variable news;
  std::deque<retired_communicator> waiting;
  std::optional<clock::time_point> busy_since;
  bool has_thread = false;
  bool is_abandoned = false;
  bool is_stopped = false;

  [[nodiscard]] bool is_idle() const { return waiting.empty() && !busy_since; }
};

namespace {

// A non-blocking communicator answers later.
result settled(const nccl_tools& tools, communicator handle, result first) {
  const auto limit = std::chrono::steady_clock::now() + tools.abort_timeout;
  result now = first;
  while (now == result::in_progress && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(limits::nccl_look_interval);
    if (tools.library.comm_get_async_error(handle, &now) != result::success) return result::internal_error;
  }
  return now;
}

void end_one(const nccl_tools& tools, communicator handle, bool is_clean) {
  const functions& library = tools.library;
  if (is_clean && settled(tools, handle, library.comm_finalize(handle)) == result::success) {
    static_cast<void>(library.comm_destroy(handle));
    return;
  }
  if (library.comm_revoke != nullptr) static_cast<void>(settled(tools, handle, library.comm_revoke(handle, 0)));
  static_cast<void>(library.comm_abort(handle));
}

}  // namespace

reaper::reaper(std::shared_ptr<const nccl_tools> tools) : tools_(std::move(tools)), queue_(std::make_shared<queue>()) {}

reaper::~reaper() {
  const std::scoped_lock own(guard_);
  std::unique_lock lock(queue_->guard);
  queue_->is_stopped = true;
  queue_->news.notify_all();
  const auto is_over = [this] { return queue_->is_idle() || !queue_->has_thread; };
  if (!queue_->news.wait_for(lock, tools_->abort_timeout, is_over)) queue_->is_abandoned = true;
}

void reaper::end(retired_communicator gone) {
  if (gone.handle == nullptr) return;
  const std::scoped_lock own(guard_);
  const std::scoped_lock lock(queue_->guard);
  queue_->waiting.push_back(std::move(gone));
  if (!queue_->has_thread) queue_->has_thread = start();
  queue_->news.notify_all();
}

// Without a thread it waits for the next look.
bool reaper::start() {
  auto made = start_thread("an nccl edge", [tools = tools_, mine = queue_] {
    static_cast<void>(tools->device->enter_thread());
    std::unique_lock lock(mine->guard);
    for (;;) {
      mine->news.wait(lock, [&] { return !mine->waiting.empty() || mine->is_stopped || mine->is_abandoned; });
      if (mine->waiting.empty() || mine->is_abandoned) break;
      retired_communicator next = std::move(mine->waiting.front());
      mine->waiting.pop_front();
      mine->busy_since = clock::now();
      lock.unlock();
      end_one(*tools, next.handle, next.is_clean);
      next = {};
      lock.lock();
      mine->busy_since.reset();
      mine->news.notify_all();
    }
    mine->has_thread = false;
    mine->news.notify_all();
  });
  if (made) made->detach();
  return made.has_value();
}

void reaper::look(clock::time_point now) {
  const std::scoped_lock own(guard_);
  const std::shared_ptr<queue> seen = queue_;
  const std::scoped_lock lock(seen->guard);
  if (!seen->waiting.empty() && !seen->has_thread) seen->has_thread = start();
  if (seen->busy_since && now - *seen->busy_since > 2 * tools_->abort_timeout &&
      abandoned_ < limits::nccl_abandoned_max)
    abandon();
}

// Under the lock of the old queue.
void reaper::abandon() {
  ++abandoned_;
  auto fresh = std::make_shared<queue>();
  fresh->waiting = std::exchange(queue_->waiting, {});
  queue_->is_abandoned = true;
  queue_ = std::move(fresh);
  if (!queue_->waiting.empty()) queue_->has_thread = start();
}

bool reaper::is_idle() const {
  const std::scoped_lock own(guard_);
  const std::scoped_lock lock(queue_->guard);
  return queue_->is_idle();
}

std::uint32_t reaper::abandoned() const {
  const std::scoped_lock own(guard_);
  return abandoned_;
}

}  // namespace troupe::nccl
