#pragma once

namespace troupe {

/// Raises the soft limit of open files of this process to its hard one (RLIMIT_NOFILE). False where that gives nothing.
bool raise_open_file_limit() noexcept;

/// In a child after fork: the soft limit as this process found it, for programs that use select() or close all numbers
/// there are. Nothing to do where it was not raised. Safe in a signal handler; false with errno.
bool restore_open_file_limit() noexcept;

}  // namespace troupe
