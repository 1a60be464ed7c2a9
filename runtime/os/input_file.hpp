#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <tl/expected.hpp>

/// Files that a user names as input. None is waited for without a limit: a FIFO may have no writer.
namespace troupe {

/// "a FIFO", "a device", "a directory", "a socket"; empty for a regular file. `mode` is st_mode.
[[nodiscard]] std::string_view kind_of_file(mode_t mode) noexcept;

/// The longest time from the opening of a FIFO or device to its end.
inline constexpr std::chrono::milliseconds input_patience{10'000};

struct unread_input {
  /// errno, where the system refused; ENOENT for a file that is not there.
  int number = 0;
  /// Finding, without the path and a full stop.
  std::string cause;
};

/// The text of a small file: a regular one, or what comes out of a FIFO (as of a shell's <(COMMAND)), a terminal or
/// another device until its end, which has to come within `patience`. At most bytes_max + 1 bytes, so that the caller
/// sees a text that is too long.
[[nodiscard]] tl::expected<std::string, unread_input> read_small_input(
    const std::string& path, std::size_t bytes_max, std::chrono::milliseconds patience = input_patience);

}  // namespace troupe
