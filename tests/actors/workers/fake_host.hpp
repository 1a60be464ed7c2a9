#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "messages/limits.hpp"
#include "runtime/process/worker_host.hpp"

namespace troupe::testing {

/// A worker that is no process: the test says what it is and does.
class fake_worker final : public hosted_worker {
 public:
  explicit fake_worker(std::uint32_t rank, log_function log = nullptr)
      : hosted_worker("worker " + std::to_string(rank), rank, std::move(log)) {}

  [[nodiscard]] std::uint32_t process() const { return 1000 + rank(); }
  [[nodiscard]] std::optional<std::uint32_t> pid() const override { return process(); }
  [[nodiscard]] std::string place() const override { return "process " + std::to_string(process()); }
  void send(codec::bytes message) override { sent.push_back(std::move(message)); }
  [[nodiscard]] expected<void> hand_over(const std::string& name, std::span<const blob>) override {
    if (!takes_blobs) return fail(error_code::process_failed, hosted_worker::name(), "it takes nothing");
    handed_over.push_back(name);
    return {};
  }
  [[nodiscard]] stage_telemetry telemetry() const override { return now; }
  [[nodiscard]] std::optional<blob> page() const override { return std::nullopt; }

  bool takes_blobs = true;
  stage_telemetry now;
  std::vector<codec::bytes> sent;
  std::vector<std::string> handed_over;
  std::size_t kills = 0;

 private:
  void end_now() override { ++kills; }
};

/// Workers without processes, in the order of their starts. In one thread.
class fake_host final : public worker_host {
 public:
  struct member {
    std::shared_ptr<fake_worker> worker;
    std::shared_ptr<worker_listener> listener;
    bool is_alive = true;
  };

  explicit fake_host(log_function log) : log_(std::move(log)) {}

  [[nodiscard]] expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener> listener) override {
    if (is_closed_) return fail(error_code::engine_stopped, "workers", "the run is stopping");
    auto made = std::make_shared<fake_worker>(static_cast<std::uint32_t>(members.size()), log_);
    members.push_back({made, std::move(listener)});
    return made;
  }
  void refresh_telemetry(std::chrono::steady_clock::time_point) override {}
  void close() noexcept override { is_closed_ = true; }
  bool stop(std::chrono::steady_clock::time_point, std::chrono::milliseconds) override { return true; }

  std::deque<member> members;

 private:
  const log_function log_;
  bool is_closed_ = false;
};

}  // namespace troupe::testing
