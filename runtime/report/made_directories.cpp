#include "runtime/report/made_directories.hpp"

#include <cerrno>
#include <system_error>

#include <unistd.h>

namespace troupe {

namespace fs = std::filesystem;

int made_directories::make(const fs::path& directory) {
  std::error_code status;
  if (directory.empty() || fs::is_directory(directory, status)) return 0;
  if (fs::exists(directory, status)) return ENOTDIR;
  if (const int reason = make(directory.parent_path())) return reason;
  if (fs::create_directory(directory, status)) made_.push_back(directory);
  return status.value();
}

void made_directories::take_back() noexcept {
  for (; !made_.empty(); made_.pop_back()) ::rmdir(made_.back().c_str());
}

}  // namespace troupe
