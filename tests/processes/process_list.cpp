#include "tests/processes/process_list.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "runtime/os/unique_fd.hpp"
#include "runtime/process/probe_environment.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// What cannot be read has ended, or belongs to another user: no content.
std::string content_of(const fs::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();  // an iterator would throw if the process ends meanwhile
  return content.str();
}

fs::path directory_of(pid_t process) {
  return fs::path("/proc") / std::to_string(process);
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code ended;
  for (fs::directory_iterator at(directory, ended), end; !ended && at != end; at.increment(ended)) {
    found.push_back(at->path());
  }
  return found;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

struct stat_line {
  std::optional<char> state;
  pid_t parent = -1;
};

/// "PID (NAME) STATE PARENT ...", where the name may hold anything.
stat_line stat_of(pid_t process) {
  const std::string line = content_of(directory_of(process) / "stat");
  const auto behind_name = line.rfind(") ");
  if (behind_name == std::string::npos) return {};
  stat_line found{.state = line.at(behind_name + 2)};
  std::istringstream(line.substr(behind_name + 3)) >> found.parent;
  return found;
}

/// Under which number a worker has inherited its end of the control plane (local_host.cpp).
constexpr int link_number = 4;

bool was_started_with(pid_t process, const std::string& variable) {
  return content_of(directory_of(process) / "environ").find(variable + "=") != std::string::npos;
}

/// "socket:[43]"; empty if it has none of that number.
std::string descriptor_of(pid_t process, int number) {
  std::error_code none;
  return fs::read_symlink(directory_of(process) / "fd" / std::to_string(number), none).string();
}

std::set<std::string> sockets_of(const std::vector<pid_t>& processes) {
  std::set<std::string> found;
  for (const pid_t process : processes) {
    for (std::string& each : descriptors_of(process)) {
      if (each.starts_with("socket:")) found.insert(std::move(each));
    }
  }
  return found;
}

/// Copies have the environment and the arguments of the fork server: an agent executes its own, a driver copies itself.
/// Of fork server, try-out and worker a worker alone has a link, and a try-out alone a file for its report.
bool is_of_a_fork_server(pid_t process) {
  if (was_started_with(process, "TROUPE_FORK_SERVER")) return true;
  const std::string arguments = content_of(directory_of(process) / "cmdline");
  return !arguments.empty() && arguments == content_of(directory_of(stat_of(process).parent) / "cmdline");
}

bool is_copied_worker(pid_t process) {
  return is_of_a_fork_server(process) && descriptor_of(process, link_number).starts_with("socket:");
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const fs::path& each : entries_of("/proc")) {
    const auto process = number(each.filename().string());
    if (process && stat_of(*process).parent == parent) found.push_back(*process);
  }
  return found;
}

std::vector<pid_t> processes_with(const std::string& entry) {
  std::vector<pid_t> found;
  const std::string wanted = std::string(1, '\0') + entry + '\0';
  for (const fs::path& each : entries_of("/proc")) {
    const auto process = number(each.filename().string());
    if (process && (std::string(1, '\0') + content_of(each / "environ")).find(wanted) != std::string::npos) {
      found.push_back(*process);
    }
  }
  return found;
}

std::optional<char> state_of(pid_t process) {
  return stat_of(process).state;
}

bool is_fork_server(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  return std::getline(file, name) && name == "fork server";
}

bool is_try_out(pid_t process) {
  return was_started_with(process, "TROUPE_PROBE") ||
         (is_of_a_fork_server(process) &&
          descriptor_of(process, probe_report_number).find("troupe-probe") != std::string::npos);
}

bool is_worker(pid_t process) {
  return was_started_with(process, "TROUPE_WORKER") || is_copied_worker(process);
}

bool has_joined(pid_t worker) {
  // "tfd:        4 events: ..." in what an epoll descriptor looks at.
  for (const fs::path& each : entries_of(directory_of(worker) / "fdinfo")) {
    std::istringstream lines(content_of(each));
    for (std::string line, name; std::getline(lines, line);) {
      int descriptor = -1;
      if (std::istringstream(line) >> name >> descriptor && name == "tfd:" && descriptor == link_number) return true;
    }
  }
  return false;
}

std::set<std::uint16_t> ports_listened_at_by(const std::vector<pid_t>& processes) {
  const std::set<std::string> sockets = sockets_of(processes);
  std::set<std::uint16_t> found;
  std::ifstream table("/proc/net/tcp");
  // "  0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1000 0 4242 ...": number, here, there, state, ..., inode.
  for (std::string line, number, here, there, state, inode; std::getline(table, line);) {
    std::istringstream fields(line);
    fields >> number >> here >> there >> state;
    for (int skipped = 0; skipped < 6; ++skipped) fields >> inode;
    const auto colon = here.find(':');
    if (state != "0A" || colon == std::string::npos || !sockets.contains("socket:[" + inode + "]")) continue;
    found.insert(static_cast<std::uint16_t>(std::stoul(here.substr(colon + 1), nullptr, 16)));
  }
  return found;
}

std::vector<std::string> descriptors_of(pid_t process) {
  std::vector<std::string> found;
  for (const fs::path& each : entries_of(directory_of(process) / "fd")) {
    std::error_code closed;
    found.push_back(fs::read_symlink(each, closed).string());
  }
  return found;
}

bool is_listened_at(std::uint16_t port) {
  const unique_fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

}  // namespace troupe::testing
