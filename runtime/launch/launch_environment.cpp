#include "runtime/launch/launch_environment.hpp"

#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/launch_text.hpp"

namespace troupe {
namespace {

constexpr std::string_view version_text = "version=1;";
constexpr std::string_view channel_text = "channel=";

tl::unexpected<error> no_launch(std::string cause) {
  return fail(error_code::wire_malformed, launch_variable, std::move(cause),
              "do not set it: it is for programs that troupe launch starts");
}

}  // namespace

std::string encode(const launch_environment& environment) {
  return std::string(version_text).append(channel_text).append(std::to_string(environment.channel));
}

expected<launch_environment> parse_launch_environment(std::string_view text) {
  if (text.starts_with("version=") && !text.starts_with(version_text)) {
    return fail(error_code::wire_wrong_version, launch_variable, "written by another version of Troupe",
                "start launcher and driver from the same version");
  }
  if (!text.starts_with(version_text) || !text.substr(version_text.size()).starts_with(channel_text))
    return no_launch("\"version=1;channel=\" is not where it belongs");
  const std::string_view digits = text.substr(version_text.size() + channel_text.size());
  const auto number = read_digits(digits);
  if (!number || std::to_string(*number) != digits) return no_launch("the value of channel is no number");
  if (*number <= STDERR_FILENO || *number > std::uint64_t{limits::worker_inherited_fd_max})
    return no_launch("the descriptor is out of range");
  return launch_environment{static_cast<int>(*number)};
}

expected<std::optional<launch_environment>> take_launch_environment() {
  const char* found = std::getenv(launch_variable);
  if (found == nullptr) return std::nullopt;
  const std::string text = found;
  ::unsetenv(launch_variable);
  const auto parsed = TROUPE_TRY(parse_launch_environment(text));
  ::fcntl(parsed.channel, F_SETFD, FD_CLOEXEC);
  return parsed;
}

}  // namespace troupe
