#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe {

/// The variable that makes a program the driver of a launch.
inline constexpr const char* launch_variable = "TROUPE_LAUNCH";

/// What such a program finds at its start: the number of its end of the launch channel, from 3 to
/// limits::worker_inherited_fd_max. No secret.
struct launch_environment {
  int channel = -1;
  friend bool operator==(const launch_environment&, const launch_environment&) = default;
};

/// "version=1;channel=3".
[[nodiscard]] std::string encode(const launch_environment& environment);

/// Takes exactly what encode() gives. E0703 for another version, E0702 for anything else.
[[nodiscard]] expected<launch_environment> parse_launch_environment(std::string_view text);

/// Reads the variable and removes it, so that no program which the driver starts verifies to be one; its descriptor
/// closes in exec from then on. Nothing if there is none (any more). At the start of main(), before there are other
/// threads: it changes the environment.
[[nodiscard]] expected<std::optional<launch_environment>> take_launch_environment();

}  // namespace troupe
