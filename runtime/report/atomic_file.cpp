#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <troupe/runtime/report/atomic_file.hpp>

namespace troupe {
namespace {

namespace fs = std::filesystem;

tl::unexpected<error> unwritable(const fs::path& path, int reason) {
  return fail(error_code::output_unwritable, path.string(), std::strerror(reason),
              "name a directory that can be written to, with space left");
}

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  /// Closing can be the first to report that a write failed (NFS, quotas).
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_and_sync(const std::string& path, std::string_view content) {
  descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) return errno;
  if (const int reason = write_all(file.get(), content)) return reason;
  if (::fsync(file.get()) != 0) return errno;
  return file.close() == 0 ? 0 : errno;
}

int sync_directory(const fs::path& directory) {
  const descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) return errno;
  // Some file systems cannot sync a directory and say EINVAL; the rename itself is done.
  return ::fsync(opened.get()) == 0 || errno == EINVAL ? 0 : errno;
}

/// The topmost directory that does not exist yet, so that a failed write can take back what it made. Empty if all
/// exist.
fs::path first_missing(const fs::path& directory) {
  fs::path missing;
  std::error_code ignored;
  for (fs::path each = directory; !each.empty() && !fs::exists(each, ignored); each = each.parent_path())
    missing = each;
  return missing;
}

int publish(const fs::path& path, const fs::path& directory, std::string_view content) {
  const std::string temporary = path.string() + ".tmp-" + std::to_string(::getpid());
  int reason = write_and_sync(temporary, content);
  if (reason == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) {
    if (reason != EEXIST) ::unlink(temporary.c_str());
    return reason;
  }
  return sync_directory(directory);
}

}  // namespace

expected<void> atomic_write_file(const fs::path& path, std::string_view content) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path made = first_missing(directory);
  std::error_code status;
  fs::create_directories(directory, status);
  if (status) return unwritable(directory, status.value());
  const int reason = publish(path, directory, content);
  if (reason == 0) return {};
  if (!made.empty()) fs::remove_all(made, status);
  return unwritable(path, reason);
}

expected<void> check_writable_directory(const fs::path& directory) {
  std::error_code status;
  fs::path existing = directory;
  while (!existing.empty() && !fs::exists(existing, status)) existing = existing.parent_path();
  if (existing.empty()) existing = ".";
  if (!fs::is_directory(existing, status)) return unwritable(directory, ENOTDIR);
  if (::access(existing.c_str(), W_OK | X_OK) != 0) return unwritable(directory, errno);
  return {};
}

}  // namespace troupe
