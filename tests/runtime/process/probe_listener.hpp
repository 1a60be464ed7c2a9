#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/process/process_host.hpp"

namespace troupe::testing {

inline constexpr std::chrono::seconds patience{60};

inline std::chrono::steady_clock::time_point in_time() {
  return std::chrono::steady_clock::now() + patience;
}

/// Keeps what a worker says and how it ends; waits for either.
class probe_listener : public process_listener {
 public:
  void on_output(worker_id, output_stream stream, std::string_view line) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(reports_.empty()) << "output after the end: " << line;
    (stream == output_stream::standard_output ? out_ : err_).emplace_back(line);
    changed_.notify_all();
  }
  void on_exit(const exit_report& report) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back(report);
    EXPECT_EQ(reports_.size(), 1u) << "ended twice";
    changed_.notify_all();
  }

  [[nodiscard]] bool await_lines(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, in_time(), [&] { return out_.size() >= count; });
  }
  /// How it ended; a failed test and an empty report if it does not.
  exit_report await_exit() {
    std::unique_lock lock(mutex_);
    const bool ended = changed_.wait_until(lock, in_time(), [&] { return !reports_.empty(); });
    EXPECT_TRUE(ended);
    return ended ? reports_.front() : exit_report{};
  }
  [[nodiscard]] bool has_ended() const {
    const std::lock_guard lock(mutex_);
    return !reports_.empty();
  }
  [[nodiscard]] std::vector<std::string> out() const {
    const std::lock_guard lock(mutex_);
    return out_;
  }
  [[nodiscard]] std::vector<std::string> err() const {
    const std::lock_guard lock(mutex_);
    return err_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> out_;
  std::vector<std::string> err_;
  std::vector<exit_report> reports_;
};

inline spawn_request probe(std::vector<std::string> arguments) {
  spawn_request request;
  request.name = "stage 1/replica 0";
  request.program = PROCESS_PROBE;
  request.arguments = std::move(arguments);
  request.arguments.insert(request.arguments.begin(), "probe");
  return request;
}

inline std::unique_ptr<process_host> new_host() {
  auto made = process_host::create();
  EXPECT_TRUE(made);
  return made ? std::move(*made) : nullptr;
}

/// Starts a probe and waits for its end.
inline std::shared_ptr<probe_listener> run_probe(process_host& host, spawn_request request) {
  auto listener = std::make_shared<probe_listener>();
  const auto started = host.start(std::move(request), listener);
  EXPECT_TRUE(started) << (started ? "" : to_string(started.error()));
  if (started) listener->await_exit();
  return listener;
}

inline std::ptrdiff_t open_descriptors() {
  namespace fs = std::filesystem;
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

}  // namespace troupe::testing
