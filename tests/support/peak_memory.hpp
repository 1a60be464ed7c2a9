#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace troupe::testing {

/// "VmHWM", the most memory that this process had since reset_peak(), or "VmRSS", what it has. In bytes.
inline std::uint64_t memory_now(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}
inline void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace troupe::testing
