#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::testing {

/// The memory of the weights of all stage replicas that train in this process or its workers, one path for each.
inline std::vector<std::filesystem::path> state_memories() {
  std::vector<std::filesystem::path> found;
  std::set<ino_t> known;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(each.path(), gone);
    struct stat seen {};
    if (gone || target.string().find("memfd:troupe-state") == std::string::npos) continue;
    if (::stat(each.path().c_str(), &seen) == 0 && known.insert(seen.st_ino).second) found.push_back(each.path());
  }
  return found;
}

/// Flips a bit, as damaged memory does.
inline void flip_bit(const std::filesystem::path& memory, std::int64_t offset) {
  const int file = ::open(memory.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  unsigned char byte = 0;
  EXPECT_EQ(::pread(file, &byte, 1, offset), 1);
  byte ^= 1;
  EXPECT_EQ(::pwrite(file, &byte, 1, offset), 1);
  ::close(file);
}

}  // namespace troupe::testing
