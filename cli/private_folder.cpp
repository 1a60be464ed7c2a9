#include "private_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "runtime/report/atomic_file.hpp"

namespace troupe::cli {

expected<std::unique_ptr<private_folder>> private_folder::make() {
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
  if (failed) return unwritable("TMPDIR", failed.value());
  std::string name = (parent / "troupe-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return unwritable(parent, errno);
  return std::unique_ptr<private_folder>(new private_folder(name));
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
