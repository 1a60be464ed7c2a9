#include "runtime/launcher/join_files.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/join/join_file.hpp"
#include "runtime/launcher/launch_roles.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

/// Beside it; the next launch finds the same one. A name that is too long for more has another one.
std::string unfinished(const std::string& path) {
  const std::filesystem::path of(path);
  constexpr std::string_view end = ".new";
  if (of.filename().string().size() + end.size() <= NAME_MAX) return path + std::string(end);
  return (of.parent_path() / fmt::format(".troupe-{:016x}", std::hash<std::string>{}(of.filename().string()))).string();
}

tl::unexpected<error> unwritable(const std::string& path, std::string cause) {
  return fail(error_code::output_unwritable, "join file " + path, std::move(cause),
              "name a file with --join-file in a directory that can be written");
}

/// Removes files of an earlier launch.
expected<void> remove_old(const std::string& path) {
  for (const std::string& each : {path, unfinished(path)}) {
    if (::unlink(each.c_str()) != 0 && errno != ENOENT) return unwritable(each, errno_text());
  }
  return {};
}

/// Nothing if there is none yet.
expected<std::optional<join_ticket>> find_ticket(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::nullopt;
  const auto ticket = read_join_file(path);
  if (ticket) return *ticket;
  // removed meanwhile
  if (ticket.error().code == error_code::config_missing && ::access(path.c_str(), F_OK) != 0) return std::nullopt;
  return tl::make_unexpected(ticket.error());
}

/// Names what only a difference of the clocks explains, unless the file is left from an earlier launch.
std::string no_ticket(const std::optional<join_ticket>& old) {
  if (!old) return "no ticket came in time: the launcher on the node of rank 0 has not written it";
  return fmt::format(
      "no ticket came in time: the one that is there expired {} s ago by this node's clock. It is left from an earlier "
      "launch, or this clock is ahead of that of the node of rank 0",
      std::time(nullptr) - old->expires_unix_seconds);
}

}  // namespace

expected<join_files> join_files::make(std::string prefix, const std::vector<node_slots>& nodes,
                                      const std::vector<std::uint32_t>& node_ranks) {
  std::map<std::string, std::string> paths;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string path = join_file_of(prefix, node_ranks.at(i));
    TROUPE_TRY(remove_old(path));
    paths.emplace(nodes[i].name, std::move(path));
  }
  return join_files(std::move(paths));
}

join_files::~join_files() {
  for (const auto& [_, path] : paths_) {
    ::unlink(path.c_str());
    ::unlink(unfinished(path).c_str());
  }
}

expected<void> join_files::write(const std::string& node, std::string_view ticket) {
  const auto found = paths_.find(node);
  if (found == paths_.end()) return fail(error_code::value_out_of_range, node, "the launch has no such node");
  const std::string& path = found->second;
  const auto parsed = TROUPE_TRY(parse_join_ticket(ticket));
  const std::string first = unfinished(path);
  ::unlink(first.c_str());
  TROUPE_TRY(write_join_file(first, parsed));
  if (::rename(first.c_str(), path.c_str()) == 0) return {};
  const int number = errno;
  ::unlink(first.c_str());
  return unwritable(path, errno_text(number));
}

void join_files::remove(const std::string& node) {
  const auto found = paths_.find(node);
  if (found != paths_.end()) ::unlink(found->second.c_str());
}

expected<void> await_join_file(const std::string& path, const std::string& node, steady_clock::time_point deadline) {
  auto pause = limits::join_file_pause_min;
  std::optional<join_ticket> old;
  for (bool is_first = true;; is_first = false) {
    const auto found = TROUPE_TRY(find_ticket(path));
    const auto& ticket = found;
    const bool is_old = ticket && (is_first ? ticket->expires_unix_seconds <= std::time(nullptr)
                                            : old && std::ranges::equal(ticket->secret.bytes(), old->secret.bytes()));
    if (ticket && !is_old) return {};
    if (is_old) old = ticket;
    const auto now = steady_clock::now();
    if (now >= deadline) {
      return fail(error_code::process_failed, fmt::format("{}, join file {}", node, path), no_ticket(old),
                  "see that it runs, that both share the directory, and that --join-file is the same, and set the "
                  "clocks right");
    }
    std::this_thread::sleep_until(std::min(now + pause, deadline));
    pause = std::min(2 * pause, limits::join_file_pause_max);
  }
}

}  // namespace troupe
