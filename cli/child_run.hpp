#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "command.hpp"
#include "runtime/process/process_host.hpp"

namespace troupe::cli {

/// How a child ended.
struct child_end {
  exit_report report;
  /// It did not end in time, and was killed.
  bool overdue = false;
  double seconds = 0;
};

/// Runs commands of this same program as child processes, one at a time. Their output is told line by line, and goes
/// nowhere else. A child ends with this process, however that ends. Threads: run() from one; interrupt() from any.
class child_runner {
 public:
  /// `command` is the place in errors. E0614.
  [[nodiscard]] static expected<std::unique_ptr<child_runner>> create(std::string command);
  child_runner(const child_runner&) = delete;
  child_runner& operator=(const child_runner&) = delete;
  ~child_runner() = default;

  using on_line = std::function<void(std::string_view line)>;

  /// `troupe` with these words; neither TROUPE_CONFIG nor TROUPE_FAULT counts. Waits for its end, at most `patience`;
  /// then it is killed, as after interrupt(). The lines of its stderr come on another thread. Errors: E0614 if it does
  /// not start; E0606 once it was interrupted.
  [[nodiscard]] expected<child_end> run(const std::string& name, const arguments& words,
                                        std::chrono::steady_clock::duration patience, on_line stderr_line);
  /// Kills the child that runs. No other one starts.
  void interrupt();

 private:
  child_runner(std::string command, std::unique_ptr<process_host> host)
      : command_(std::move(command)), host_(std::move(host)) {}

  const std::string command_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool interrupted_ = false;
  /// Ends first: its listeners use what stands above.
  const std::unique_ptr<process_host> host_;
};

}  // namespace troupe::cli
