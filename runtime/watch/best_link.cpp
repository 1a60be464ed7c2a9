#include "runtime/watch/best_link.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/report/atomic_file.hpp"

namespace troupe {

namespace fs = std::filesystem;

expected<void> check_link(const fs::path& link) {
  std::error_code ignored;
  const fs::file_status there = fs::symlink_status(link, ignored);
  if (!fs::exists(there) || fs::is_symlink(there)) return {};
  return fail(error_code::output_unwritable, link.string(),
              "it is no link, and the best checkpoint is to be linked here", "rename it");
}

expected<void> replace_link(const fs::path& link, const std::string& target) {
  std::error_code problem;
  if (fs::read_symlink(link, problem) == target) return {};
  TROUPE_TRY(check_link(link));
  fs::path other = link;
  other += ".troupe-" + std::to_string(::getpid());
  other = other.parent_path() / ("." + other.filename().string());
  fs::remove(other, problem);
  if (::symlink(target.c_str(), other.c_str()) != 0) return unwritable(link, errno);
  if (std::rename(other.c_str(), link.c_str()) == 0) return {};
  const int reason = errno;
  fs::remove(other, problem);
  return unwritable(link, reason);
}

}  // namespace troupe
