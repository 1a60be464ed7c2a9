#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <troupe/error.hpp>

namespace troupe {

/// One start of one worker, unique within a process host: unlike a pid it is never used again.
struct worker_id {
  std::uint64_t value = 0;
  friend auto operator<=>(const worker_id&, const worker_id&) = default;
};

enum class exit_kind {
  exited,     ///< by itself, with a status
  signalled,  ///< killed by a signal
  unknown,    ///< the status was taken elsewhere, or the system did not end the process in time
  lost,       ///< its node is out of reach, or could not start it
};

/// How a worker ended.
struct exit_report {
  worker_id worker;
  std::string name;  ///< as in its spawn_request: "stage 1/replica 0"
  pid_t pid = 0;     ///< no longer this process's; for messages only
  exit_kind kind = exit_kind::unknown;
  int value = 0;          ///< the exit status, or the signal's number
  std::string note = {};  ///< of a lost one: what happened
  bool core_dumped = false;
  /// The greatest resident size, from getrusage(2). The driver's own size when it forked counts: the kernel does not
  /// reset the mark in exec.
  std::uint64_t max_resident_bytes = 0;
  /// What it said of its own end, if it ended with an exit status that tells of a failure (error_line.hpp); of a lost
  /// one, why it could not be started.
  std::optional<error> told = std::nullopt;
  /// Up to worker_output_lines_kept last lines of standard error, without what was told.
  std::vector<std::string> last_lines;

  /// "killed by SIGKILL", "killed by SIGSEGV (core dumped)", "exited with status 3".
  [[nodiscard]] std::string outcome() const;

  /// The outcome, what it told, and below it the last lines, each on its own line and indented, if there are any.
  [[nodiscard]] std::string describe() const { return describe(outcome()); }
  /// The same with words that know more than the system does, of a process that was killed by its owner.
  [[nodiscard]] std::string describe(std::string how) const;
};

}  // namespace troupe
