#include "runtime/os/file_replacement.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <random>

#include <fcntl.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/write_all.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

int sync_directory(const fs::path& directory) {
  const unique_fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return errno;
  // Some file systems cannot sync a directory and say EINVAL; the rename itself is done.
  return ::fsync(opened.get()) == 0 || errno == EINVAL ? 0 : errno;
}

std::string random_name(std::string name, std::random_device& numbers) {
  constexpr std::size_t digits = 16;
  for (std::size_t i = 0; i < digits; ++i) name += "0123456789abcdef"[numbers() % 16];
  return name;
}

}  // namespace

file_replacement::~file_replacement() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

/// Makes a file that was not there before, with a short name of its own: the path may have the longest one that there
/// can be. A killed program leaves its own behind, and the next one may have the same process id (in a container it
/// has), so that the name is random.
int file_replacement::open() {
  std::random_device numbers;
  for (int tries = 0; tries < limits::temporary_names_max; ++tries) {
    const std::string name = (directory_of(path_) / random_name(prefix_, numbers)).string();
    fd_.reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (fd_) temporary_ = name;
    if (fd_ || errno != EEXIST) break;
  }
  return fd_ ? 0 : errno;
}

int file_replacement::write(std::string_view content) {
  return write_all(fd_.get(), content);
}

int file_replacement::write_at_begin(std::string_view content) {
  if (::lseek(fd_.get(), 0, SEEK_SET) != 0) return errno;
  if (const int reason = write_all(fd_.get(), content)) return reason;
  return ::lseek(fd_.get(), 0, SEEK_END) < 0 ? errno : 0;
}

int file_replacement::publish() {
  if (::fsync(fd_.get()) != 0) return errno;
  // Closing can be the first to report that a write failed (NFS, quotas).
  if (::close(fd_.release()) != 0) return errno;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return errno;
  temporary_.clear();
  return sync_directory(directory_of(path_));
}

}  // namespace troupe
