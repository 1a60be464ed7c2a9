#include "private_folder.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/report/atomic_file.hpp"

namespace troupe::cli {
namespace {

const std::string name_begin = "troupe-runs-";

/// From mkdtemp() to the lock.
constexpr std::chrono::seconds time_to_lock{60};

/// Children do not inherit it.
unique_fd open_folder(const std::filesystem::path& folder) {
  return unique_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// False if another process has it.
bool lock(const unique_fd& folder) {
  return folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
}

bool is_forgotten(int folder) {
  struct stat known {};
  if (::fstat(folder, &known) != 0 || known.st_uid != ::geteuid()) return false;
  return std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(known.st_mtime) > time_to_lock;
}

/// Removes what killed processes have left.
void sweep(const std::filesystem::path& parent) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator each(parent, ignored), end; each != end; each.increment(ignored)) {
    if (ignored) return;
    if (!each->path().filename().string().starts_with(name_begin)) continue;
    const unique_fd folder = open_folder(each->path());
    // not the lock first: its owner may be about to take it
    if (folder && is_forgotten(folder.get()) && lock(folder)) std::filesystem::remove_all(each->path(), ignored);
  }
}

}  // namespace

expected<std::unique_ptr<private_folder>> private_folder::make() {
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
  if (failed) return unwritable("TMPDIR", failed.value());
  sweep(parent);
  std::string name = (parent / (name_begin + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) return unwritable(parent, errno);
  unique_fd folder = open_folder(name);
  if (!lock(folder)) return unwritable(name, errno);
  return std::unique_ptr<private_folder>(new private_folder(name, std::move(folder)));
}

private_folder::~private_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::optional<std::string> read_small_file(const std::filesystem::path& file, std::size_t bytes_max) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(file, failed);
  if (failed || size > bytes_max) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  return in.bad() ? std::nullopt : std::optional(std::move(text));
}

}  // namespace troupe::cli
