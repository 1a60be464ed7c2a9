#include <algorithm>
#include <filesystem>

#include "messages/try.hpp"
#include "runtime/data/byte_image_set.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/text_file.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t object_classes = 10;
constexpr std::int64_t planes = 3;
constexpr std::int64_t side = 32;
/// One label byte, then the red, green and blue plane, each row by row.
constexpr std::uint64_t record_bytes = 1 + planes * side * side;
constexpr const char* get_binary = "use test_batch.bin of the binary version of CIFAR-10";

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

expected<std::string> find_in_directory(const std::filesystem::path& directory) {
  std::error_code failure;
  if (const auto standard = directory / "test_batch.bin"; std::filesystem::exists(standard, failure)) {
    return standard.string();
  }
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == ".bin") found.push_back(entry->path().filename().string());
  }
  if (failure) return fail(error_code::data_unreadable, directory.string(), failure.message(), "check the permissions");
  std::sort(found.begin(), found.end());
  if (found.size() == 1) return (directory / found.front()).string();
  if (found.empty()) {
    return fail(error_code::data_missing, directory.string(), "holds no test_batch.bin and no other *.bin file",
                get_binary);
  }
  return fail(error_code::data_missing, directory.string(),
              "holds no test_batch.bin but several other *.bin files: " + listed(found), "name the file itself");
}

expected<void> check_records(const std::string& path, const byte_region& file) {
  const std::uint64_t size = file.size();
  const std::uint64_t rest = size % record_bytes;
  if (rest == 0) return {};
  if (auto text = text_in_place_of("CIFAR-10", path, file)) return tl::make_unexpected(std::move(*text));
  return fail(error_code::data_truncated, path + ", byte " + std::to_string(size - rest),
              "the last record is incomplete: expected " + std::to_string(record_bytes) + " bytes, found " +
                  std::to_string(rest) + " (" + std::to_string(size) + " bytes in all)",
              get_binary);
}

}  // namespace

expected<data_set_ptr> open_cifar10(const data_request& request) {
  std::string path = request.path();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    std::string found = TROUPE_TRY(find_in_directory(path));
    path = std::move(found);
  }
  byte_region_ptr region = TROUPE_TRY(open_bytes(path));
  if (expected<void> whole = check_records(path, *region); !whole) return tl::make_unexpected(whole.error());
  byte_image_layout layout;
  layout.name = "cifar10:" + request.path();
  layout.size = region->size() / record_bytes;
  layout.shape = {planes, side, side};
  layout.classes = object_classes;
  layout.pixels = {region, path, 1, record_bytes};
  layout.labels = {region, path, 0, record_bytes};
  return make_byte_image_set(std::move(layout));
}

}  // namespace troupe
