#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <troupe/runtime/os/unique_fd.hpp>
#include <troupe/tests/processes/process_list.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// What cannot be read has ended, or belongs to somebody else: no content.
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

std::optional<std::uint16_t> driver_port_of(pid_t worker) {
  const std::string environment = content_of(directory_of(worker) / "environ");
  const auto told = environment.find("TROUPE_WORKER=");
  const auto port = told == std::string::npos ? told : environment.find("port=", told);
  if (port == std::string::npos) return std::nullopt;
  const auto value = number(std::string_view(environment).substr(port + 5, environment.find('\0', port) - port - 5));
  return value ? std::optional(static_cast<std::uint16_t>(*value)) : std::nullopt;
}

bool is_listened_at(std::uint16_t port) {
  const unique_fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

std::size_t connections_at(std::uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  std::size_t found = 0;
  // "  0: 0100007F:1F90 0100007F:C350 01 ...": number, here, there, state.
  for (std::string number, here, there, state, line; std::getline(table, line);) {
    std::istringstream(line) >> number >> here >> there >> state;
    const auto colon = here.find(':');
    if (state == "01" && colon != std::string::npos && std::stoul(here.substr(colon + 1), nullptr, 16) == port) ++found;
  }
  return found;
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
