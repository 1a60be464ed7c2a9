#include "runtime/edge/cuda_ipc/event_poller.hpp"

#include <iterator>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/device/device_thread.hpp"

namespace troupe::ipc {

expected<std::shared_ptr<event_poller>> event_poller::open(std::shared_ptr<device_context> device) {
  std::shared_ptr<event_poller> made(new event_poller());
  auto thread =
      TROUPE_TRY(start_device_thread("a cuda_ipc edge", std::move(device), [self = made.get()] { self->run(); }));
  made->thread_ = std::move(thread);
  return made;
}

event_poller::~event_poller() {
  is_stopping_.store(true, std::memory_order_release);
  bell_.ring();
  if (thread_.joinable()) thread_.join();
}

void event_poller::add(check is_over, pace how) {
  {
    const std::scoped_lock lock(guard_);
    new_.push_back({std::move(is_over), how});
    if (how == pace::device) ++device_checks_;
  }
  bell_.ring();
}

void event_poller::take_new() {
  const std::scoped_lock lock(guard_);
  std::move(new_.begin(), new_.end(), std::back_inserter(watches_));
  new_.clear();
}

// A watch that is over is destroyed before it is counted: a caller that finds the poller idle finds all of them gone.
void event_poller::call_all() {
  for (std::size_t i = 0; i < watches_.size();) {
    if (!watches_[i].is_over()) {
      ++i;
      continue;
    }
    const pace how = watches_[i].how;
    std::swap(watches_[i], watches_.back());
    watches_.pop_back();
    if (how == pace::device) --device_checks_;
  }
}

void event_poller::run() {
  auto limit = std::chrono::steady_clock::time_point::max();
  for (;;) {
    const std::uint32_t seen = bell_.epoch();
    const bool is_stopping = is_stopping_.load(std::memory_order_acquire);
    const auto now = std::chrono::steady_clock::now();
    if (is_stopping && limit == std::chrono::steady_clock::time_point::max()) limit = now + limits::ipc_stop_timeout;
    take_new();
    call_all();
    if (is_stopping && (is_idle() || now >= limit)) break;
    rest(seen);
  }
  watches_.clear();
}

void event_poller::rest(std::uint32_t seen) {
  const std::uint32_t epoch = bell_.prepare_to_park();
  if (epoch != seen) return bell_.stay_awake();
  if (!is_idle()) return bell_.wait(epoch, limits::ipc_look_interval);
  bell_.wait(epoch, watches_.empty() ? std::chrono::nanoseconds(limits::park_max)
                                     : std::chrono::nanoseconds(limits::ipc_linger_look_interval));
}

}  // namespace troupe::ipc
