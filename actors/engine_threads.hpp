#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/engine_host.hpp"
#include "runtime/engine/engine_thread.hpp"

namespace troupe {

/// The production host: one thread per engine, owned by the running program. Stages spin for a short while before they
/// park; the loader never does.
class engine_threads final : public engine_host {
 public:
  [[nodiscard]] expected<void> start(std::shared_ptr<engine> engine) override;

  /// Waits until every engine has finished; true when all have. Then the threads are gone.
  [[nodiscard]] bool join(std::chrono::steady_clock::time_point deadline);

 private:
  struct running {
    std::shared_ptr<engine> driven;  // outlives its thread
    std::unique_ptr<engine_thread> thread;
  };
  std::mutex mutex_;
  std::vector<running> running_;
};

}  // namespace troupe
