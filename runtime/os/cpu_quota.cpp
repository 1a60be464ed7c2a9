#include "runtime/os/cpu_quota.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "runtime/os/cores.hpp"

namespace troupe {
namespace {

constexpr std::size_t file_bytes_max = 1U << 20U;
constexpr std::size_t groups_max = 64;
/// The kernel's default, in microseconds.
constexpr double default_period = 100'000;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool has_item(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == wanted) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// mountinfo writes blanks and backslashes of a path as "\040".
std::string unescaped(std::string_view text) {
  constexpr std::size_t digits = 3;
  std::string path;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    const char* const begin = text.data() + at + 1;
    const bool is_escape = text[at] == '\\' && text.size() - at > digits &&
                           std::from_chars(begin, begin + digits, value, 8).ptr == begin + digits;
    path += is_escape ? static_cast<char>(value) : text[at];
    if (is_escape) at += digits;
  }
  return path;
}

/// A mounted hierarchy of groups that may have quotas.
struct hierarchy {
  bool is_second_version = false;
  /// The group that is seen at the mount point.
  std::string root;
  std::string mount_point;
};

/// A line is "ID PARENT DEVICE ROOT MOUNT_POINT OPTIONS [TAG...] - TYPE SOURCE SUPER_OPTIONS".
std::vector<hierarchy> hierarchies_in(const std::string& mountinfo) {
  constexpr std::size_t root = 3;
  constexpr std::size_t mount_point = 4;
  std::vector<hierarchy> found;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (dash - words.begin() <= static_cast<std::ptrdiff_t>(mount_point) || words.end() - dash < 4) continue;
    const bool is_second = dash[1] == "cgroup2";
    if (!is_second && !(dash[1] == "cgroup" && has_item(dash[3], "cpu"))) continue;
    found.push_back({is_second, unescaped(words[root]), unescaped(words[mount_point])});
  }
  return found;
}

/// A line is "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers there.
std::optional<std::string> group_in(const std::string& cgroups, bool is_second_version) {
  std::istringstream lines(cgroups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.size() <= second + 1 || line[second + 1] != '/') continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = is_second_version ? controllers.empty() : has_item(controllers, "cpu");
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// "/a/b" below a mount that shows "/a" is "/b". Nothing where it is not below: a namespace hides where it is, and the
/// mount point is the nearest group that can be seen.
std::string path_below(const std::string& group, const std::string& root) {
  const std::string prefix = root == "/" ? "" : root;
  const bool is_below = group == root || group.starts_with(prefix + "/");
  const bool is_hidden = group == "/.." || group.find("/../") != std::string::npos;
  const std::string below = is_below && !is_hidden ? group.substr(prefix.size()) : "";
  return below == "/" ? "" : below;
}

std::optional<double> number_in(const std::string& word) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_number = failure == std::errc{} && end == word.data() + word.size();
  return is_number && value > 0 ? std::optional(static_cast<double>(value)) : std::nullopt;  // -1 is no limit
}

std::optional<double> first_number(const std::optional<std::string>& content) {
  const auto words = content ? words_of(*content) : std::vector<std::string>{};
  return words.empty() ? std::nullopt : number_in(words.front());
}

std::optional<cpu_quota> quota_in(const std::string& group, bool is_second_version, const file_reader& read) {
  std::string file = group + (is_second_version ? "/cpu.max" : "/cpu.cfs_quota_us");
  const auto content = read(file);
  const auto quota = first_number(content);
  if (!quota) return std::nullopt;
  double period = default_period;
  if (is_second_version) {
    const auto words = words_of(*content);
    if (words.size() > 1) period = number_in(words[1]).value_or(0);
  } else {
    period = first_number(read(group + "/cpu.cfs_period_us")).value_or(0);
  }
  if (period <= 0) return std::nullopt;
  return cpu_quota{*quota / period, std::move(file)};
}

void keep_smaller(std::optional<cpu_quota>& smallest, std::optional<cpu_quota> other) {
  if (other && (!smallest || other->cores < smallest->cores)) smallest = std::move(other);
}

}  // namespace

std::optional<cpu_quota> find_cpu_quota(const file_reader& read) {
  const auto cgroups = read("/proc/self/cgroup");
  const auto mounts = read("/proc/self/mountinfo");
  if (!cgroups || !mounts) return std::nullopt;
  std::optional<cpu_quota> smallest;
  for (const hierarchy& each : hierarchies_in(*mounts)) {
    const auto group = group_in(*cgroups, each.is_second_version);
    if (!group) continue;
    std::string below = path_below(*group, each.root);
    for (std::size_t depth = 0; depth < groups_max; ++depth) {
      keep_smaller(smallest, quota_in(each.mount_point + below, each.is_second_version, read));
      if (below.empty()) break;
      below.resize(below.rfind('/'));
    }
  }
  return smallest;
}

std::optional<cpu_quota> find_cpu_quota() {
  return find_cpu_quota([](const std::string& path) -> std::optional<std::string> {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    std::string content(file_bytes_max, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(file.gcount()));
    return content;
  });
}

std::uint32_t cores_within(const std::optional<cpu_quota>& quota, std::uint32_t cores) noexcept {
  if (!quota || quota->cores >= cores) return std::max(1U, cores);
  return std::max(1U, static_cast<std::uint32_t>(quota->cores));
}

std::uint32_t cores_to_use() {
  return cores_within(find_cpu_quota(), usable_cores());
}

}  // namespace troupe
