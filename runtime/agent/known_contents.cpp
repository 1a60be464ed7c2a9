#include "runtime/agent/known_contents.hpp"

#include <cerrno>
#include <cstddef>
#include <vector>

#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/file_hash.hpp"

namespace troupe {
namespace {

constexpr std::size_t bytes_per_read = 1u << 20;

tl::unexpected<error> unreadable() {
  return fail(error_code::process_failed, {}, "it cannot be read: " + errno_text());
}

/// The hash of the first `size` bytes, however many the file has meanwhile.
expected<std::string> hash_of(int file, std::uint64_t size, const read_watch& watch) {
  sha256 hash;
  std::vector<std::byte> block(bytes_per_read);
  std::uint64_t done = 0;
  for (std::uint64_t reported = 0; done < size;) {
    const ssize_t got = ::pread(file, block.data(), block.size(), static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable();
    if (got == 0) break;
    hash.add(block.data(), static_cast<std::size_t>(got));
    done += static_cast<std::uint64_t>(got);
    if (done - reported < limits::file_report_bytes || done >= size) continue;
    reported = done;
    if (!watch(done)) return fail(error_code::interrupted, {}, "the agent ends");
  }
  return hash.digest();
}

}  // namespace

known_contents::file_stamp known_contents::stamp_of(const struct stat& seen) {
  return {seen.st_dev,          seen.st_ino,         seen.st_size,        seen.st_mtim.tv_sec,
          seen.st_mtim.tv_nsec, seen.st_ctim.tv_sec, seen.st_ctim.tv_nsec};
}

expected<bool> known_contents::has(int file, const file_identity& wanted, const read_watch& watch) {
  struct stat seen {};
  if (::fstat(file, &seen) != 0) return unreadable();
  if (!S_ISREG(seen.st_mode) || static_cast<std::uint64_t>(seen.st_size) != wanted.size) return false;
  const file_stamp now = stamp_of(seen);
  if (const auto known = hashes_.find(now); known != hashes_.end()) return known->second == wanted.hash;
  auto hash = TROUPE_TRY(hash_of(file, wanted.size, watch));
  if (hashes_.size() >= limits::node_files_max) hashes_.clear();
  return hashes_.emplace(now, std::move(hash)).first->second == wanted.hash;
}

}  // namespace troupe
