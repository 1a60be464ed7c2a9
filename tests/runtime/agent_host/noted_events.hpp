// What the listener of a worker, and a log, are told; waits for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/process/worker_host.hpp"

namespace troupe::testing {

using namespace std::chrono_literals;

/// Strings in the order in which they came, from any thread.
class noted_events {
 public:
  static constexpr std::chrono::seconds patience{120};
  struct contains {
    std::string text;
    bool operator()(const std::string& each) const { return each.find(text) != std::string::npos; }
  };

  void note(std::string what) {
    const std::lock_guard lock{mutex_};
    noted_.push_back(std::move(what));
    changed_.notify_all();
  }
  /// The first ones, once there are so many; fewer after a failed test.
  std::vector<std::string> first(std::size_t count) {
    std::unique_lock lock{mutex_};
    const bool came = changed_.wait_for(lock, patience, [&] { return noted_.size() >= count; });
    EXPECT_TRUE(came) << noted_.size() << " of " << count;
    return noted_;
  }
  /// True once there is one with this text in it.
  bool has(const std::string& text) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, patience, [&] { return std::ranges::any_of(noted_, contains{text}); });
  }
  bool has_times(const std::string& text, std::size_t times) {
    std::unique_lock lock{mutex_};
    const auto wanted = static_cast<std::ptrdiff_t>(times);
    return changed_.wait_for(lock, patience, [&] { return std::ranges::count_if(noted_, contains{text}) >= wanted; });
  }
  [[nodiscard]] std::vector<std::string> now() const {
    const std::lock_guard lock{mutex_};
    return noted_;
  }
  [[nodiscard]] std::ptrdiff_t count(const std::string& text) const {
    const std::lock_guard lock{mutex_};
    return std::ranges::count_if(noted_, contains{text});
  }
  [[nodiscard]] log_function log() {
    return [this](const log_record& record) { note(to_string(record)); };
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> noted_;
};

inline std::chrono::steady_clock::time_point in_time() {
  return std::chrono::steady_clock::now() + noted_events::patience;
}

inline std::string text_in(const codec::bytes& message) {
  return {reinterpret_cast<const char*>(message.data()), message.size()};
}
inline codec::bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Of one worker: "said X", "link lost", and its end in the words of exit_report, which must be its last.
class noted_worker final : public worker_listener {
 public:
  void said(const hosted_worker_ptr&, codec::bytes message) override { note("said " + text_in(message)); }
  void link_lost(const hosted_worker_ptr&) override { note("link lost"); }
  void exited(const hosted_worker_ptr& worker, const exit_report& report) override {
    {
      const std::lock_guard lock{mutex_};
      EXPECT_FALSE(report_) << "ended twice";
      report_ = report;
      pid_ = worker->pid();
      changed_.notify_all();
    }
    if (on_end) on_end();
  }

  /// Nothing if it does not end.
  std::optional<exit_report> end() {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, noted_events::patience, [&] { return report_.has_value(); });
    EXPECT_TRUE(report_) << "did not end";
    return report_;
  }
  [[nodiscard]] bool has_ended() const {
    const std::lock_guard lock{mutex_};
    return report_.has_value();
  }
  /// What its host said of its process with its end.
  [[nodiscard]] std::optional<std::uint32_t> pid_at_end() const {
    const std::lock_guard lock{mutex_};
    return pid_;
  }

  noted_events events;
  /// Set before it is started.
  std::function<void()> on_end = nullptr;

 private:
  void note(std::string what) {
    EXPECT_FALSE(has_ended()) << what << " after the end";
    events.note(std::move(what));
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<exit_report> report_;
  std::optional<std::uint32_t> pid_;
};

}  // namespace troupe::testing
