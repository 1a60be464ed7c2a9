#include "runtime/report/writable_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

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

int write_proof(const fs::path& directory) {
  std::string path = (directory / ".troupe-XXXXXX").string();
  const int file = ::mkstemp(path.data());
  if (file < 0) return errno;
  int reason = write_all(file, std::string(proof_bytes, '\0'));
  if (reason == 0 && ::fsync(file) != 0) reason = errno;
  if (::close(file) != 0 && reason == 0) reason = errno;
  ::unlink(path.c_str());
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
