#pragma once

#include <troupe/error.hpp>

namespace troupe {

/// The variable that makes a process the one in which a run is tried out, its only value, and the descriptor under
/// which it finds the file for its report.
inline constexpr const char* probe_variable = "TROUPE_PROBE";
inline constexpr const char* probe_value = "version=1;report=3";
inline constexpr int probe_report_number = 3;

/// Reads the variable and removes it, so that no program which the process starts believes to be another one; nor does
/// such a program inherit the descriptor. False without it. E0702 for any other value. At the start of main(), before
/// there are other threads: it changes the environment.
[[nodiscard]] expected<bool> take_probe_environment();

}  // namespace troupe
