#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include <sys/stat.h>

#include "messages/agent.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Called with the bytes read so far, about every limits::file_report_bytes; false ends the reading.
using read_watch = std::function<bool(std::uint64_t bytes)>;

/// What files contain. A file is read once, and again when its inode, size or times have changed. Threads: one.
class known_contents {
 public:
  /// Whether the open file has this size and this content. It is read if it has the size and is not known. E0614 where
  /// it cannot be read, E0606 where the watch has ended it.
  [[nodiscard]] expected<bool> has(int file, const file_identity& wanted, const read_watch& watch);

 private:
  using file_stamp = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  [[nodiscard]] static file_stamp stamp_of(const struct stat& seen);
  std::map<file_stamp, std::string> hashes_;
};

}  // namespace troupe
