#pragma once

#include <span>

#include <sys/types.h>

namespace troupe {

/// What can fail in a child between fork and exec.
enum class child_step : int { parent, group, move_report, descriptors, close_others, file_limit, signals, exec };

[[nodiscard]] const char* name_of(child_step step) noexcept;

/// What a child writes into its report pipe if a step fails. If none does, exec closes the pipe.
struct child_failure {
  child_step step = child_step::exec;
  int error = 0;
};

struct fd_move {
  int from = -1;
  int to = -1;
  int parked = -1;  ///< scratch space of the child: its copy above all targets
};

/// Everything the child needs, made before the fork. Owns nothing.
struct child_setup {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  /// Sorted by target, each target once; with standard input, output and error.
  std::span<fd_move> moves;
  int report = -1;
  pid_t driver = -1;
};

/// The child after the fork, with all signals blocked; ends in exec or in _exit. It calls only async-signal-safe
/// functions: another thread of the driver may have held any lock, the allocator's too, at the moment of the fork.
[[noreturn]] void run_child(const child_setup& plan) noexcept;

/// The same without exec: false if a step fails. Signals stay as they are, and descriptors that were not asked for stay
/// open until close_others(). Of the plan it takes the moves and the driver.
[[nodiscard]] bool settle_child(const child_setup& plan) noexcept;
[[nodiscard]] bool close_others(std::span<const fd_move> moves) noexcept;

}  // namespace troupe
