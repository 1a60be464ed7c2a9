#include "runtime/report/atomic_file.hpp"

#include <cstring>
#include <string>

#include "runtime/os/file_replacement.hpp"
#include "runtime/report/made_directories.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

int publish(const fs::path& path, std::string_view content) {
  file_replacement file(path);
  if (const int reason = file.open()) return reason;
  if (const int reason = file.write(content)) return reason;
  return file.publish();
}

}  // namespace

tl::unexpected<error> unwritable(const fs::path& path, int reason) {
  return fail(error_code::output_unwritable, path.string(), std::strerror(reason),
              "name a directory that can be written to, with space left");
}

expected<void> atomic_write_file(const fs::path& path, std::string_view content) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  made_directories made;
  if (const int reason = made.make(directory)) {
    made.take_back();
    return unwritable(directory, reason);
  }
  const int reason = publish(path, content);
  if (reason == 0) return {};
  made.take_back();
  return unwritable(path, reason);
}

}  // namespace troupe
