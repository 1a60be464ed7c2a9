#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/engine_host.hpp"
#include "runtime/flow/engine_thread.hpp"

namespace troupe {

/// The production host: one thread per engine, owned by the running program. `engines_spin`: an engine spins for its
/// engine::spin_budget() before it parks. false where another thread needs the core (transport::has_thread()).
class engine_threads final : public engine_host {
 public:
  explicit engine_threads(bool engines_spin = true) : engines_spin_(engines_spin) {}

  [[nodiscard]] expected<void> start(std::shared_ptr<engine> engine) override;

  /// Waits until every engine has finished; true when all have. Then the threads are gone.
  [[nodiscard]] bool join(std::chrono::steady_clock::time_point deadline);

 private:
  struct running {
    std::shared_ptr<engine> driven;  // outlives its thread
    std::unique_ptr<engine_thread> thread;
  };
  const bool engines_spin_;
  std::mutex mutex_;
  std::vector<running> running_;
};

}  // namespace troupe
