#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "runtime/process/exit_report.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The process was ended by a signal that comes from outside: the kernel for lack of memory, an operator, a supervisor;
/// or its node was lost. One that could not be started was not.
/// Signals of faults (SIGSEGV, SIGABRT, ...) are the process's own. `killed_for`: why its owner killed it; empty if the
/// owner did not.
[[nodiscard]] bool was_killed_from_outside(const exit_report& report, const std::string& killed_for);

/// Says when starting workers once more would not help. Threads: one.
class start_budget {
 public:
  /// A worker is waited for again: starts that failed while none was do not count.
  void begin() noexcept;
  /// A worker has said hello: the program can be one, and is left alone.
  void hello() noexcept { begin(); }

  /// A worker ended before its hello. E0614, with the first cause of a row, when
  /// limits::worker_failed_starts_max in a row ended by themselves, or limits::worker_starts_killed_max for each of the
  /// `waited_for` were killed from outside. Deaths of one kind do not interrupt the row of the other.
  [[nodiscard]] std::optional<error> failed(const std::string& worker, const exit_report& report,
                                            const std::string& killed_for, std::size_t waited_for);

  /// A worker ended that had said hello and was given to no stage.
  void spare_lost(std::chrono::nanoseconds now);
  /// Nothing speaks against starting one that is not waited for.
  [[nodiscard]] bool may_start_spare(std::chrono::nanoseconds now);

 private:
  struct row {
    std::uint32_t count = 0;
    error first = {};
  };
  row by_themselves_;
  row from_outside_;
  std::deque<std::chrono::nanoseconds> spares_lost_;
};

}  // namespace troupe
