#include "runtime/report/writable_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/os/write_all.hpp"
#include "runtime/report/atomic_file.hpp"
#include "runtime/report/made_directories.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// A disk that is full takes an empty file.
constexpr std::size_t proof_bytes = 4096;

/// A file without a name, so that a process which is killed meanwhile leaves nothing; -1 with errno. Some file systems,
/// such as NFS, cannot make one.
int open_proof(const fs::path& directory) {
  constexpr mode_t for_user = 0600;
  const int file = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, for_user);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string path = (directory / ".troupe-XXXXXX").string();
  const int named = ::mkstemp(path.data());
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

int write_proof(const fs::path& directory) {
  const int file = open_proof(directory);
  if (file < 0) return errno;
  int reason = write_all(file, std::string(proof_bytes, '\0'));
  if (reason == 0 && ::fsync(file) != 0) reason = errno;
  if (::close(file) != 0 && reason == 0) reason = errno;
  return reason;
}

expected<void> prove(made_directories& made, const fs::path& directory, const std::vector<std::string>& files) {
  if (const int reason = made.make(directory)) return unwritable(directory, reason);
  if (const int reason = write_proof(directory)) return unwritable(directory, reason);
  for (const std::string& name : files) {
    struct stat found {};
    if (::stat((directory / name).c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
      return fail(error_code::output_unwritable, (directory / name).string(), std::strerror(EISDIR),
                  "choose another place, or move this directory away");
    }
  }
  return {};
}

}  // namespace

expected<void> check_writable_directory(const fs::path& directory, const std::vector<std::string>& files) {
  made_directories made;
  auto proved = prove(made, directory, files);
  made.take_back();
  return proved;
}

}  // namespace troupe
