#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace troupe::testing {

struct program_call {
  std::vector<std::string> arguments;
  /// Another one than `troupe`.
  std::string program = {};
  /// Called with the arguments in a child process, in place of starting a program; its result is the exit status. It
  /// saves what the start of a program takes, most of which is LibTorch's.
  int (*body)(const std::vector<std::string>& arguments) = nullptr;
  /// "NAME=value", beside this process's own environment without its TROUPE_* variables.
  std::vector<std::string> environment = {};
  std::string directory = ".";
  /// A file to send stdout to; empty: it is captured.
  std::string stdout_file = {};
  /// Close the reading end of stdout before the program starts.
  bool stdout_closed = false;
  /// Let stderr be a pipe that is full, and that is never read.
  bool stderr_full = false;
  /// Sees all of stderr so far whenever more comes; the signals it returns are sent then.
  std::function<std::vector<int>(const std::string& so_far)> on_stderr = {};
  /// Asked every millisecond; the signals it returns are sent.
  std::function<std::vector<int>()> on_tick = {};
  /// Told once, when it has been started.
  std::function<void(pid_t process)> on_start = {};
  std::chrono::seconds deadline{120};
};

struct program_outcome {
  /// Exit status; 128 + signal where it was killed; -1 after the deadline (then it was killed by the test).
  int status = -1;
  std::string out;
  std::string err;
};

/// For program_call::on_tick: SIGKILL, once, when the file has grown to so many bytes.
std::function<std::vector<int>()> kill_when_grown(std::filesystem::path file, std::uintmax_t bytes);

/// Runs the built program. Aborts the test program on what can only be a fault of the test.
program_outcome run_troupe(const program_call& call);

}  // namespace troupe::testing
