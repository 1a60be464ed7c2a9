#include "program/models/file_stamp.hpp"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "program/models/local_file.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/file_hash.hpp"

namespace troupe {
namespace {

using file_state = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// E0210 for a file that cannot be read.
expected<std::string> content_of(const std::string& file, const struct stat& seen) {
  static std::mutex mutex;
  static std::map<file_state, std::string> known;
  const file_state now{seen.st_dev, seen.st_ino, seen.st_size, ns_of(seen.st_mtim), ns_of(seen.st_ctim)};
  const std::lock_guard lock{mutex};
  if (const auto found = known.find(now); found != known.end()) return found->second;
  return sha256_of_file(file, error_code::model_unreadable).map([&](const std::string& digest) {
    return known.emplace(now, digest).first->second;
  });
}

}  // namespace

std::string stamp_by_time(const std::string& file) {
  struct stat seen {};
  if (::stat(file.c_str(), &seen) != 0) return file;
  return fmt::format("{} {} {}", file, seen.st_size, ns_of(seen.st_mtim));
}

std::string stamp_by_content(const std::string& file) {
  const std::string here = local_file(file);
  struct stat seen {};
  if (::stat(here.c_str(), &seen) != 0) return file;
  return fmt::format("{} {}", file, content_of(here, seen).value_or(std::string()));
}

expected<file_identity> identity_of(const std::string& file) {
  struct stat seen {};
  if (::stat(file.c_str(), &seen) != 0) {
    return fail(error_code::model_unreadable, file, "cannot be read: " + errno_text(), "check the path");
  }
  return content_of(file, seen).map([&](std::string digest) {
    return file_identity{.path = file, .hash = std::move(digest), .size = static_cast<std::uint64_t>(seen.st_size)};
  });
}

}  // namespace troupe
