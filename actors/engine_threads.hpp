#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/engine_host.hpp"
#include "runtime/flow/engine_thread.hpp"

namespace troupe {

/// The production host: one thread per engine, owned by the running program. Stages spin for limits::spin_budget before
/// they park, unless another thread needs their core (transport::has_thread()); the loader never does.
class engine_threads final : public engine_host {
 public:
  explicit engine_threads(bool stages_spin = true) : stages_spin_(stages_spin) {}

  [[nodiscard]] expected<void> start(std::shared_ptr<engine> engine) override;

  /// Waits until every engine has finished; true when all have. Then the threads are gone.
  [[nodiscard]] bool join(std::chrono::steady_clock::time_point deadline);

 private:
  struct running {
    std::shared_ptr<engine> driven;  // outlives its thread
    std::unique_ptr<engine_thread> thread;
  };
  const bool stages_spin_;
  std::mutex mutex_;
  std::vector<running> running_;
};

}  // namespace troupe
