#pragma once

#include <memory>
#include <utility>

#include "runtime/inject/fault_injector.hpp"
#include "runtime/process/worker_host.hpp"

namespace troupe {

/// A host whose workers a fault injector knows by their ranks.
class watched_host final : public worker_host {
 public:
  watched_host(std::shared_ptr<worker_host> inner, std::shared_ptr<fault_injector> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  [[nodiscard]] expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener> listener) override {
    auto worker = inner_->start(std::move(listener));
    if (worker) faults_->started(*worker);
    return worker;
  }
  void refresh_telemetry(std::chrono::steady_clock::time_point deadline) override {
    inner_->refresh_telemetry(deadline);
  }
  void close() noexcept override { inner_->close(); }
  bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) override {
    return inner_->stop(deadline, grace);
  }

 private:
  const std::shared_ptr<worker_host> inner_;
  const std::shared_ptr<fault_injector> faults_;
};

}  // namespace troupe
