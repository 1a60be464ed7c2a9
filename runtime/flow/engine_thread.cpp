#include "runtime/flow/engine_thread.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <pthread.h>
#include <sched.h>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/os/cores.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

/// The kernel's own limit, without the closing zero.
constexpr std::size_t thread_name_max = 15;

/// Only the engine's thread writes, so a load and a store are enough.
void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

expected<std::unique_ptr<engine_thread>> engine_thread::start(engine& driven, engine_thread_options options) {
  std::unique_ptr<engine_thread> made(new engine_thread(driven, options));
  made->thread_ = TROUPE_TRY(start_thread(driven.name(), [self = made.get()] { self->run(); }));
  return made;
}

engine_thread::engine_thread(engine& driven, engine_thread_options options) : engine_(driven), options_(options) {}

engine_thread::~engine_thread() {
  TROUPE_CHECK(!thread_.joinable(),
               "an engine's thread is joined before it is destroyed: stop the engine, then join()");
}

bool engine_thread::join(std::chrono::steady_clock::time_point deadline) {
  {
    std::unique_lock lock(mutex_);
    if (!finished_changed_.wait_until(lock, deadline, [this] { return finished_; })) return false;
  }
  if (thread_.joinable()) thread_.join();
  return true;
}

engine_thread_counters engine_thread::counters() const noexcept {
  return {parks_.load(std::memory_order_relaxed), wake_ups_.load(std::memory_order_relaxed),
          spins_rewarded_.load(std::memory_order_relaxed)};
}

void engine_thread::run() noexcept {
  pthread_setname_np(pthread_self(), engine_.name().substr(0, thread_name_max).c_str());
  try {
    drive();
  } catch (const std::exception& e) {
    invariant_broken("no exception leaves engine::step()", exception_text(e).c_str(), __FILE__, __LINE__);
  } catch (...) {
    invariant_broken("no exception leaves engine::step()", "of an unknown type", __FILE__, __LINE__);
  }
  const std::lock_guard lock(mutex_);
  finished_ = true;
  finished_changed_.notify_all();
}

void engine_thread::drive() {
  engine_.on_thread_start();
  step_result last = step_result::progressed;
  while (last != step_result::finished) {
    last = engine_.step();
    if (last == step_result::idle) last = spin();
    if (last == step_result::idle) last = park();
  }
}

step_result engine_thread::spin() {
  if (options_.spin_budget <= std::chrono::nanoseconds::zero()) return step_result::idle;
  const auto until = std::chrono::steady_clock::now() + options_.spin_budget;
  do {
    // The loader, the thread of the actors and, where there are more stages than cores, other stages may wait for the
    // core on which this thread spins. One of them gets it here.
    sched_yield();
    const step_result result = engine_.step();
    if (result == step_result::idle) continue;
    count(spins_rewarded_);
    return result;
  } while (std::chrono::steady_clock::now() < until);
  return step_result::idle;
}

// The step between the announcement and the wait looks at all edges and commands once more. Without it a ring between
// the last step and the announcement would be lost.
step_result engine_thread::park() {
  doorbell& bell = engine_.bell();
  const std::uint32_t epoch = bell.prepare_to_park();
  const step_result result = engine_.step();
  if (result != step_result::idle) {
    bell.stay_awake();
    return result;
  }
  count(parks_);
  bell.wait(epoch, std::min(engine_.park_limit(), std::chrono::nanoseconds(limits::park_max)));
  if (bell.epoch() != epoch) count(wake_ups_);
  return step_result::progressed;
}

}  // namespace troupe
