#include "program/file_stamp.hpp"

#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>
#include <sys/stat.h>

#include "runtime/journal/file_hash.hpp"

namespace troupe {
namespace {

using file_state = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::string stamp_by_time(const std::string& file) {
  struct stat seen {};
  if (::stat(file.c_str(), &seen) != 0) return file;
  return fmt::format("{} {} {}", file, seen.st_size, ns_of(seen.st_mtim));
}

std::string stamp_by_content(const std::string& file) {
  static std::mutex mutex;
  static std::map<file_state, std::string> known;
  struct stat seen {};
  if (::stat(file.c_str(), &seen) != 0) return file;
  const file_state now{seen.st_dev, seen.st_ino, seen.st_size, ns_of(seen.st_mtim), ns_of(seen.st_ctim)};
  const std::lock_guard lock{mutex};
  auto& digest = known[now];
  if (digest.empty()) digest = sha256_of_file(file, error_code::model_unreadable).value_or(std::string());
  return fmt::format("{} {}", file, digest);
}

}  // namespace troupe
