#include "runtime/agent/file_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>

#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/write_all.hpp"

namespace troupe {
namespace {

constexpr mode_t for_the_user_alone = 0700;

tl::unexpected<error> unusable(const std::string& path, const std::string& cause) {
  return fail(error_code::output_unwritable, path, cause,
              "set TROUPE_CACHE_DIR to a directory of your own with space left, or put the file on the node");
}

std::string value_of(const std::vector<named_value>& environment, const char* name) {
  const auto found = std::ranges::find(environment, name, &named_value::name);
  if (found != environment.end()) return found->value;
  const char* own = std::getenv(name);
  return own == nullptr ? std::string() : own;
}

/// The user's alone from now on.
expected<void> claim(const std::string& directory) {
  const unique_fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) return unusable(directory, "open: " + errno_text());
  struct stat found {};
  if (::fstat(opened.get(), &found) != 0) return unusable(directory, "fstat: " + errno_text());
  if (found.st_uid != ::geteuid()) return unusable(directory, "it belongs to another user");
  if (::fchmod(opened.get(), for_the_user_alone) != 0) return unusable(directory, "chmod: " + errno_text());
  return {};
}

}  // namespace

std::string cache_directory(const std::vector<named_value>& environment) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const std::string own = value_of(environment, "TROUPE_CACHE_DIR"); !own.empty())
    return (fs::absolute(own, ignored) / "files").string();
  // https://specifications.freedesktop.org/basedir-spec/latest: a path that is not absolute is to be ignored
  if (const fs::path common = value_of(environment, "XDG_CACHE_HOME"); common.is_absolute())
    return (common / "troupe/files").string();
  if (const fs::path home = value_of(environment, "HOME"); home.is_absolute())
    return (home / ".cache/troupe/files").string();
  return {};
}

// --- cached_file -----------------------------------------------------------------------------------------------------

cached_file::~cached_file() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

expected<void> cached_file::add(std::span<const std::byte> content) {
  const std::string_view bytes(reinterpret_cast<const char*>(content.data()), content.size());
  const int reason = write_all(file_.get(), bytes);
  if (reason == 0) return {};
  return unusable(path_, "write: " + errno_text(reason));
}

/// Another agent may have been faster: what it has put there is the same.
expected<void> cached_file::keep() {
  if (::fsync(file_.get()) != 0) return unusable(path_, "fsync: " + errno_text());
  if (temporary_.empty()) {
    const std::string open_file = "/proc/self/fd/" + std::to_string(file_.get());
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0 && errno != EEXIST)
      return unusable(path_, "linkat: " + errno_text());
    return {};
  }
  // Closing can be the first to report that a write failed (NFS, quotas).
  if (::close(file_.release()) != 0) return unusable(path_, "close: " + errno_text());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return unusable(path_, "rename: " + errno_text());
  temporary_.clear();
  return {};
}

// --- file_cache ------------------------------------------------------------------------------------------------------

expected<void> file_cache::make_directory() const {
  if (directory_.empty())
    return unusable("cache of files", "none of TROUPE_CACHE_DIR, XDG_CACHE_HOME and HOME says where it is");
  std::string made;
  for (const auto& each : std::filesystem::path(directory_)) {
    made = (std::filesystem::path(made) / each).string();
    if (::mkdir(made.c_str(), for_the_user_alone) == 0 || errno == EEXIST) continue;
    if (struct stat found{}; ::stat(made.c_str(), &found) == 0) continue;  // "/" of a file system that is read-only
    return unusable(made, "mkdir: " + errno_text());
  }
  return claim(directory_);
}

expected<bool> file_cache::has(const file_identity& wanted, known_contents& known, const read_watch& watch) const {
  if (directory_.empty()) return false;
  if (struct stat found{}; ::stat(directory_.c_str(), &found) != 0) return false;
  TROUPE_TRY(claim(directory_));
  const std::string path = directory_ + "/" + wanted.hash;
  const unique_fd opened(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!opened && errno == ENOENT) return false;
  const auto same = opened ? known.has(opened.get(), wanted, watch) : expected<bool>(false);
  if (same.value_or(false) || (!same && same.error().code == error_code::interrupted)) return same;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return unusable(path, "unlink: " + errno_text());
  return false;
}

expected<cached_file> file_cache::add(const std::string& hash) const {
  TROUPE_TRY(make_directory());
  const std::string path = directory_ + "/" + hash;
  unique_fd nameless(::open(directory_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (nameless) return cached_file(std::move(nameless), {}, path);
  std::string temporary = directory_ + "/part-XXXXXX";
  unique_fd named(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!named) return unusable(temporary, "open: " + errno_text());
  return cached_file(std::move(named), std::move(temporary), path);
}

}  // namespace troupe
