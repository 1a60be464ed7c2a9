#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/os/unique_fd.hpp"
#include "runtime/process/process_host.hpp"

namespace troupe::testing {

/// A new directory, removed with all in it.
class scratch_directory {
 public:
  scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The text of a good ticket for the node.
std::string ticket_text(const std::string& node, std::chrono::seconds valid);

std::string text_of_file(const std::filesystem::path& path);

/// One run of launch_program, with launch_driver as its driver and fake_ssh.sh as its ssh.
class launch_run {
 public:
  struct options {
    /// What fake_ssh.sh does; "files": no ssh, but join files at place() / "job".
    std::string ssh = "good";
    std::string grace_ms = "60000";
    std::string nodes = "w0,w1";
    /// What launch_driver does, one after another.
    std::vector<std::string> driver = {};
    /// In place of launch_driver.
    std::vector<std::string> command = {};
  };
  explicit launch_run(options made);
  launch_run(const launch_run&) = delete;
  launch_run& operator=(const launch_run&) = delete;
  ~launch_run();

  /// fake_ssh.sh writes there: HOST.arguments, HOST.ticket, HOST.up, HOST.left, HOST.pid.
  [[nodiscard]] const std::filesystem::path& place() const { return place_.path(); }
  /// What follows `start` in the first line of stdout that begins so; a failed test where none comes.
  std::string await_line(const std::string& start);
  /// Waits for a file of fake_ssh.sh.
  void await_file(const std::string& name);
  void send(int signal);
  /// Waits for the end; 128 + N for signal N.
  int status();
  std::vector<std::string> out();
  /// stderr.
  std::vector<std::string> said();

 private:
  class heard_lines;

  scratch_directory place_;
  std::unique_ptr<process_host> host_;
  std::shared_ptr<heard_lines> heard_;
  worker_id launcher_;
};

/// For a process that is to end: opened while it lives.
class watched_process {
 public:
  explicit watched_process(const std::string& pid);
  [[nodiscard]] bool ends_in_time() const;

 private:
  unique_fd pidfd_;
};

}  // namespace troupe::testing
