#pragma once

#include <optional>

#include <troupe/error.hpp>

namespace troupe {

/// The variable that makes a process the one in which a run is tried out, and the descriptor under which it finds the
/// file for its report.
inline constexpr const char* probe_variable = "TROUPE_PROBE";
inline constexpr int probe_report_number = 3;

struct probe_environment {
  /// The run has several nodes.
  bool spans_nodes = false;
};

/// The value of the variable.
[[nodiscard]] const char* encode(const probe_environment& environment) noexcept;

/// Reads the variable and removes it, so that no program which the process starts verifies to be another one; nor does
/// such a program inherit the descriptor. Nothing without it. E0702 for any other value. At the start of main(), before
/// there are other threads: it changes the environment.
[[nodiscard]] expected<std::optional<probe_environment>> take_probe_environment();

}  // namespace troupe
