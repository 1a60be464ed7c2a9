#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// What a process is about to take, beside what it has.
struct resource_needs {
  /// The place that errors name.
  std::string where;
  /// Threads of this process at the same time, with stacks of the usual size.
  std::uint32_t threads = 0;
  /// Threads of processes that it will start; the system counts them together with its own.
  std::uint32_t threads_elsewhere = 0;
  std::size_t descriptors = 0;
  std::uint64_t address_bytes = 0;
};

/// Takes the whole request at once and gives it back. Libraries that are refused a thread or a descriptor in the middle
/// of their start end the process, or wait without end: after this they are refused none, as long as no other process
/// of the user takes what was free.
///
/// Where descriptors are short it raises the soft limit of open files (open_file_limit.hpp). Starts and joins at most
/// limits::checked_threads_max threads, all signals blocked. Errors: E0614, with need, supply and limit.
[[nodiscard]] expected<void> ensure_resources(const resource_needs& needed);

}  // namespace troupe
