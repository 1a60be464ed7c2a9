#pragma once

#include <functional>
#include <string>

#include "command.hpp"

namespace troupe::cli {

/// Puts something on closed standard descriptors (reserve_standard_descriptors), ignores SIGPIPE and SIGXFSZ. Once per
/// process, before any other thread: the settings stay.
void settle_process() noexcept;

/// Runs a command. Its error is printed on stderr and gives the status of its code; an exception counts as E0614 (no
/// memory) or E0601.
exit_status run_guarded(const std::string& name, const std::function<expected<exit_status>()>& run);

}  // namespace troupe::cli
