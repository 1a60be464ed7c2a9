#include "runtime/edge/nccl/nccl_core.hpp"

#include <algorithm>
#include <iterator>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/device/device_thread.hpp"

namespace troupe::nccl {

core::core(std::shared_ptr<const nccl_tools> tools)
    : tools_(std::move(tools)), reaper_(std::make_shared<reaper>(tools_)) {}

expected<std::shared_ptr<core>> core::open(std::shared_ptr<const nccl_tools> tools) {
  std::shared_ptr<core> made(new core(std::move(tools)));
  auto thread =
      TROUPE_TRY(start_device_thread("an nccl edge", made->tools_->device, [self = made.get()] { self->run(); }));
  made->thread_ = std::move(thread);
  return made;
}

core::~core() {
  stop(std::chrono::milliseconds(0));
}

void core::add(order at, std::unique_ptr<end_half> half) {
  {
    const std::scoped_lock lock(guard_);
    new_edges_.push_back({at, std::move(half)});
  }
  bell_->ring();
}

void core::stop(std::chrono::milliseconds at_most) noexcept {
  if (!thread_.joinable()) return;
  leave_limit_ = clock::now() + at_most;
  is_stopping_.store(true, std::memory_order_release);
  bell_->ring();
  thread_.join();
  has_stopped_.store(true, std::memory_order_release);
}

void core::run() {
  auto busy_since = clock::now();
  for (;;) {
    const std::uint32_t seen = bell_->epoch();
    const bool is_stopping = is_stopping_.load(std::memory_order_acquire);
    take_new();
    if (is_stopping && may_end()) break;
    const auto now = clock::now();
    reaper_->look(now);
    const end_half::state found = step_all(now);
    last_look_.store(std::uint64_t{seen} * 2 + (found == end_half::state::quiet ? 1 : 0), std::memory_order_release);
    if (found == end_half::state::moved) busy_since = now;
    rest(found, seen, busy_since);
  }
  for (edge& each : edges_) each.half->stop();
  edges_.clear();
}

bool core::may_end() const {
  return clock::now() >= leave_limit_ ||
         std::ranges::none_of(edges_, [](const edge& each) { return each.half->is_leaving(); });
}

void core::take_new() {
  const std::scoped_lock lock(guard_);
  if (new_edges_.empty()) return;
  std::ranges::move(new_edges_, std::back_inserter(edges_));
  new_edges_.clear();
  std::ranges::stable_sort(edges_, {}, &edge::at);
}

end_half::state core::step_all(clock::time_point now) {
  auto liveliest = end_half::state::quiet;
  for (edge& each : edges_) {
    const end_half::state found = each.half->step(now);
    if (found == end_half::state::over) {
      each.half.reset();
      liveliest = end_half::state::moved;
    } else if (found == end_half::state::moved || liveliest == end_half::state::quiet) {
      liveliest = found;
    }
  }
  std::erase_if(edges_, [](const edge& each) { return each.half == nullptr; });
  return liveliest;
}

// NCCL and the device ring no bell: after some yields, naps that a bell may end.
void core::rest(end_half::state found, std::uint32_t seen, clock::time_point busy_since) {
  if (found == end_half::state::moved) return;
  if (found == end_half::state::waiting && clock::now() - busy_since < limits::spin_budget) {
    std::this_thread::yield();
    return;
  }
  const std::uint32_t epoch = bell_->prepare_to_park();
  if (epoch != seen) {
    bell_->stay_awake();
    return;
  }
  if (found == end_half::state::quiet) {
    bell_->wait(epoch, limits::park_max);
  } else {
    bell_->wait(epoch, limits::nccl_look_interval);
  }
}

std::optional<std::uint32_t> core::settled_at() const {
  bell_->ring();
  const std::uint32_t asked = bell_->epoch();
  std::uint64_t last = 0;
  while ((last = last_look_.load(std::memory_order_acquire)) / 2 < asked && !has_stopped()) std::this_thread::yield();
  const bool is_settled = last % 2 == 1 && last / 2 == asked && reaper_->is_idle();
  return is_settled ? std::optional(asked) : std::nullopt;
}

}  // namespace troupe::nccl
