#include "runtime/report/atomic_file.hpp"

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/os/write_all.hpp"
#include "runtime/report/made_directories.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// A file that was not there before, with a short name of its own: `path` may have the longest one that there can be. A
/// killed program leaves its own behind, and the next one may have the same process id (in a container it has), so that
/// the name is random.
struct temporary_file {
  std::string path;
  unique_fd fd;
};

temporary_file open_temporary(const fs::path& directory) {
  temporary_file made;
  std::random_device numbers;
  for (int tries = 0; tries < limits::temporary_names_max; ++tries) {
    made.path = (directory / fmt::format(".troupe-{:08x}{:08x}", numbers(), numbers())).string();
    made.fd.reset(::open(made.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (made.fd || errno != EEXIST) break;
  }
  return made;
}

int write_and_sync(unique_fd file, std::string_view content) {
  if (const int reason = write_all(file.get(), content)) return reason;
  if (::fsync(file.get()) != 0) return errno;
  // Closing can be the first to report that a write failed (NFS, quotas).
  return ::close(file.release()) == 0 ? 0 : errno;
}

int sync_directory(const fs::path& directory) {
  const unique_fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return errno;
  // Some file systems cannot sync a directory and say EINVAL; the rename itself is done.
  return ::fsync(opened.get()) == 0 || errno == EINVAL ? 0 : errno;
}

int publish(const fs::path& path, const fs::path& directory, std::string_view content) {
  temporary_file temporary = open_temporary(directory);
  if (!temporary.fd) return errno;
  int reason = write_and_sync(std::move(temporary.fd), content);
  if (reason == 0 && std::rename(temporary.path.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlink(temporary.path.c_str());
    return reason;
  }
  return sync_directory(directory);
}

}  // namespace

tl::unexpected<error> unwritable(const fs::path& path, int reason) {
  return fail(error_code::output_unwritable, path.string(), std::strerror(reason),
              "name a directory that can be written to, with space left");
}

expected<void> atomic_write_file(const fs::path& path, std::string_view content) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  made_directories made;
  if (const int reason = made.make(directory)) {
    made.take_back();
    return unwritable(directory, reason);
  }
  const int reason = publish(path, directory, content);
  if (reason == 0) return {};
  made.take_back();
  return unwritable(path, reason);
}

}  // namespace troupe
