#include "runtime/process/worker_environment.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

constexpr unsigned version = 3;
constexpr std::size_t keys = 4;
constexpr std::array<std::string_view, keys> names = {"version", "channel", "link", "network"};

tl::unexpected<error> malformed(std::string cause) {
  return fail(error_code::wire_malformed, worker_variable, std::move(cause),
              "do not set it: it is for processes that Troupe starts");
}

/// Decimal digits without sign or leading zeros, as encode() writes them.
std::optional<unsigned> number_in(std::string_view text) {
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stopped != end || std::to_string(value) != text) return std::nullopt;
  return value;
}

/// The part of `text` up to the next separator, which is removed from it.
std::string_view take_part(std::string_view& text) {
  const auto end = text.find(';');
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

expected<std::array<unsigned, keys>> numbers_of(std::string_view text) {
  if (text.size() > limits::worker_environment_bytes_max || std::ranges::count(text, ';') != keys - 1) {
    return malformed(std::to_string(text.size()) + " bytes that are not the expected list");
  }
  std::array<unsigned, keys> numbers{};
  for (std::size_t i = 0; i < keys; ++i) {
    std::string_view part = take_part(text);
    const std::string_view name = names.at(i);
    if (!part.starts_with(name) || part.substr(name.size(), 1) != "=") {
      return malformed("\"" + std::string(name) + "=\" is not where it belongs");
    }
    const auto number = number_in(part.substr(name.size() + 1));
    if (!number) return malformed("the value of " + std::string(name) + " is no number");
    numbers.at(i) = *number;
  }
  return numbers;
}

bool are_inheritable(std::vector<unsigned> fds) {
  std::ranges::sort(fds);
  return fds.front() > STDERR_FILENO && fds.back() <= unsigned{limits::worker_inherited_fd_max} &&
         std::ranges::adjacent_find(fds) == fds.end();
}

}  // namespace

std::string encode(const worker_environment& environment) {
  const std::array<long, keys> values = {version, environment.channel, environment.link, environment.network};
  std::string text;
  for (std::size_t i = 0; i < keys; ++i) {
    if (i > 0) text += ';';
    text += std::string(names.at(i)) + "=" + std::to_string(values.at(i));
  }
  return text;
}

expected<worker_environment> parse_worker_environment(std::string_view text) {
  std::string_view rest = text;
  const std::string_view first = take_part(rest);
  if (first.starts_with("version=") && first != "version=" + std::to_string(version)) {
    return fail(error_code::wire_wrong_version, worker_variable, "written by another version of Troupe",
                "start driver and workers from the same program");
  }
  const auto numbers = TROUPE_TRY(numbers_of(text));
  const auto [_, channel, link, network] = numbers;
  std::vector<unsigned> given{channel, link};
  if (network != 0) given.push_back(network);
  if (!are_inheritable(given)) return malformed("descriptors out of range or repeated");
  return worker_environment{static_cast<int>(channel), static_cast<int>(link), static_cast<int>(network)};
}

expected<std::optional<worker_environment>> take_worker_environment() {
  const char* found = std::getenv(worker_variable);
  if (found == nullptr) return std::nullopt;
  const std::string text = found;
  ::unsetenv(worker_variable);
  auto parsed = TROUPE_TRY(parse_worker_environment(text));
  for (const int inherited : {parsed.channel, parsed.link, parsed.network}) {
    if (inherited != 0) ::fcntl(inherited, F_SETFD, FD_CLOEXEC);
  }
  return parsed;
}

}  // namespace troupe
