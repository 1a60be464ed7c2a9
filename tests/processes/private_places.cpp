#include "tests/processes/private_places.hpp"

#include <cstdlib>
#include <optional>

#include <unistd.h>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* unshare = "/usr/bin/unshare";
constexpr const char* mount_and_run = "mount --bind \"$0\" /dev/shm && exec \"$@\"";

/// Of unshare(1), for a mount namespace; nothing where the system refuses one.
std::optional<std::string> find_namespace_flags() {
  for (const char* flags : {"--mount", "--user --map-root-user --mount"}) {
    if (::geteuid() != 0 && std::string(flags) == "--mount") continue;
    const scratch place;
    const std::string trial = std::string(unshare) + " " + flags + " sh -c 'mount --bind \"$0\" /dev/shm' " +
                              place.path().string() + " 2>/dev/null";
    if (std::system(trial.c_str()) == 0) return flags;
  }
  return std::nullopt;
}

const std::optional<std::string>& namespace_flags() {
  static const std::optional<std::string> found = find_namespace_flags();
  return found;
}

std::set<std::string> files_in(const fs::path& place) {
  std::set<std::string> found;
  std::error_code gone;
  for (fs::recursive_directory_iterator at(place, gone), end; !gone && at != end; at.increment(gone)) {
    found.insert(at->path().string());
  }
  return found;
}

}  // namespace

private_places::private_places() {
  fs::create_directory(root_.path() / "tmp");
  fs::create_directory(root_.path() / "shm");
  before_ = left_behind();
}

std::string private_places::variable() const {
  return "TMPDIR=" + (root_.path() / "tmp").string();
}

std::vector<std::string> private_places::command(const std::string& program,
                                                 const std::vector<std::string>& arguments) const {
  std::vector<std::string> made;
  if (const auto& flags = namespace_flags()) {
    made = {unshare};
    for (std::size_t at = 0; at < flags->size();) {
      const std::size_t end = std::min(flags->find(' ', at), flags->size());
      made.push_back(flags->substr(at, end - at));
      at = end + 1;
    }
    made.insert(made.end(), {"/bin/sh", "-c", mount_and_run, (root_.path() / "shm").string()});
  }
  made.push_back(program);
  made.insert(made.end(), arguments.begin(), arguments.end());
  return made;
}

std::set<std::string> private_places::left_behind() const {
  std::set<std::string> found = files_in(root_.path() / "tmp");
  found.merge(files_in(namespace_flags() ? root_.path() / "shm" : fs::path("/dev/shm")));
  for (const std::string& each : before_) found.erase(each);
  return found;
}

}  // namespace troupe::testing
