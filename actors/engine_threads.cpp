#include "actors/engine_threads.hpp"

#include "messages/try.hpp"
#include "runtime/flow/stage_engine.hpp"

namespace troupe {

expected<void> engine_threads::start(std::shared_ptr<engine> engine) {
  const bool spins = stages_spin_ && dynamic_cast<stage_engine*>(engine.get()) != nullptr;
  auto thread = TROUPE_TRY(
      engine_thread::start(*engine, {.spin_budget = spins ? limits::spin_budget : std::chrono::nanoseconds{0}}));
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
