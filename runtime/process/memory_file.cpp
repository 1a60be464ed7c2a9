#include "runtime/process/memory_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

expected<memory_file> memory_file::make(const std::string& name, std::string_view text) {
  const std::string where = "file in memory (" + name + ")";
  if (text.size() > limits::memory_file_bytes_max) {
    return fail(error_code::process_failed, where, std::to_string(text.size()) + " bytes are too many");
  }
  unique_fd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // The kernel makes it for all; another process of the user opens it through /proc.
  if (!fd || ::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0 || !write_all(fd.get(), text) ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return fail(error_code::process_failed, where, errno_text(), "raise the limits of open files and of memory");
  }
  return memory_file(std::move(fd));
}

expected<unique_fd> memory_file::duplicate() const {
  unique_fd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (copy) return copy;
  return fail(error_code::process_failed, path(), errno_text(), "raise the limit of open files (ulimit -n)");
}

}  // namespace troupe
