#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "runtime/launcher/launcher_loop.hpp"
#include "runtime/process/process_listener.hpp"

namespace troupe {

/// What the process host's thread knows of the driver.
class launcher_loop::driver_process final : public process_listener {
 public:
  explicit driver_process(std::function<void()> on_change) : on_change_(std::move(on_change)) {}

  /// Its outputs are the launcher's own.
  void on_output(worker_id, output_stream, std::string_view) override {}
  void on_exit(const exit_report& report) override {
    {
      const std::lock_guard lock(mutex_);
      end_ = report;
    }
    has_ended_ = true;
    on_change_();
  }

  void on_line_of_another() {
    if (has_ended_) was_followed_ = true;
  }
  /// Lines stand below what it has said last.
  [[nodiscard]] bool was_followed() const noexcept { return was_followed_; }
  [[nodiscard]] std::optional<exit_report> end() const {
    const std::lock_guard lock(mutex_);
    return end_;
  }

 private:
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::optional<exit_report> end_;
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> was_followed_{false};
};

}  // namespace troupe
