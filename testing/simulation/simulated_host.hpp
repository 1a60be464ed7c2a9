#pragma once

#include <memory>
#include <vector>

#include "testing/simulation/simulated_process.hpp"

namespace troupe::simulation {

/// Where the workers of one driver live. Keeps all that it started, dead ones too.
class simulated_host final : public worker_host {
 public:
  explicit simulated_host(worker_surroundings& around) : around_(around) {}

  [[nodiscard]] expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener> listener) override;
  void refresh_telemetry(std::chrono::steady_clock::time_point) override {}
  void close() noexcept override { is_closed_ = true; }
  bool stop(std::chrono::steady_clock::time_point, std::chrono::milliseconds) override { return true; }

  // --- the next one to start ---
  void start_next_late(nanoseconds by) { late_by_ = by; }
  void fail_next_start() { fails_next_ = true; }

  [[nodiscard]] const std::vector<std::shared_ptr<simulated_worker>>& all() const noexcept { return workers_; }
  /// The one that is this replica now, if it lives.
  [[nodiscard]] simulated_process* at(stage_address where) const;
  void end_all(exit_cause why);

 private:
  worker_surroundings& around_;
  std::vector<std::shared_ptr<simulated_worker>> workers_;
  nanoseconds late_by_{0};
  bool fails_next_ = false;
  bool is_closed_ = false;
};

}  // namespace troupe::simulation
