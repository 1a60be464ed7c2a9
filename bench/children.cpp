#include "children.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace troupe::bench {
namespace {

using namespace std::chrono_literals;

/// A worker that waits for its stage has so many; the fork server, which workers are copied from, has one.
constexpr unsigned threads_of_a_worker = 4;
constexpr std::chrono::milliseconds moment{300};
/// Heartbeats.
constexpr unsigned ticks_at_rest = 1;
constexpr std::chrono::seconds patience{60};

/// What /proc/PID/stat says behind the name, from the state on.
std::vector<std::string> stat_of(pid_t pid) {
  std::ostringstream content;
  // An iterator over the file would throw if the process ends meanwhile.
  content << std::ifstream("/proc/" + std::to_string(pid) + "/stat").rdbuf();
  const std::string text = content.str();
  const auto end = text.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream rest(text.substr(end + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

constexpr std::size_t state_at = 0;
constexpr std::size_t user_ticks_at = 11;
constexpr std::size_t system_ticks_at = 12;
constexpr std::size_t threads_at = 17;

/// Of processor time; 0 if there is no such process.
unsigned long long processor_ticks(pid_t pid) {
  const auto stat = stat_of(pid);
  return stat.size() > system_ticks_at ? std::stoull(stat[user_ticks_at]) + std::stoull(stat[system_ticks_at]) : 0;
}

unsigned threads_of(pid_t pid) {
  const auto stat = stat_of(pid);
  return stat.size() > threads_at ? static_cast<unsigned>(std::stoul(stat[threads_at])) : 0;
}

}  // namespace

std::set<pid_t> workers() {
  std::set<pid_t> found;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream in(task.path() / "children");
    for (pid_t child = 0; in >> child;) {
      const auto stat = stat_of(child);
      if (!stat.empty() && stat[state_at] != "Z" && threads_of(child) >= threads_of_a_worker) found.insert(child);
    }
  }
  return found;
}

bool are_at_rest(const std::set<pid_t>& watched) {
  const auto ticks = [&] {
    std::vector<unsigned long long> found;
    std::ranges::transform(watched, std::back_inserter(found), processor_ticks);
    return found;
  };
  const auto before = ticks();
  std::this_thread::sleep_for(moment);
  return std::ranges::equal(ticks(), before, [](auto now, auto then) { return now - then <= ticks_at_rest; });
}

bool await_rest(std::size_t count) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < limit) {
    const auto all = workers();
    if (all.size() == count && are_at_rest(all)) return true;
    std::this_thread::sleep_for(20ms);
  }
  return false;
}

}  // namespace troupe::bench
