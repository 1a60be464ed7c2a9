#include "actors/engine_threads.hpp"

#include "messages/try.hpp"

namespace troupe {

expected<void> engine_threads::start(std::shared_ptr<engine> engine) {
  const auto spin_budget = engines_spin_ ? engine->spin_budget() : std::chrono::nanoseconds{0};
  auto thread = TROUPE_TRY(engine_thread::start(*engine, {.spin_budget = spin_budget}));
  const std::lock_guard lock{mutex_};
  running_.push_back({std::move(engine), std::move(thread)});
  return {};
}

bool engine_threads::join(std::chrono::steady_clock::time_point deadline) {
  const std::lock_guard lock{mutex_};
  for (running& each : running_) {
    if (!each.thread->join(deadline)) return false;
  }
  running_.clear();
  return true;
}

}  // namespace troupe
