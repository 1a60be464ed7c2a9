#include <algorithm>
#include <filesystem>

#include "messages/try.hpp"
#include "runtime/data/byte_image_set.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/text_file.hpp"

namespace troupe {

namespace {

constexpr std::int64_t planes = 3;
constexpr std::int64_t side = 32;
constexpr std::uint64_t pixel_bytes_of_record = planes * side * side;

/// A record is its label bytes, then the red, green and blue plane, each row by row.
struct record_form {
  const char* set;
  /// The file of a directory.
  const char* file;
  std::uint64_t label_bytes;
  /// Which of them is the label.
  std::uint64_t label_at;
  std::uint32_t classes;

  [[nodiscard]] std::uint64_t bytes() const { return label_bytes + pixel_bytes_of_record; }
  [[nodiscard]] std::string get_binary() const {
    return std::string("use ") + file + " of the binary version of " + set;
  }
};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

expected<std::string> find_in_directory(const std::filesystem::path& directory, const record_form& form) {
  std::error_code failure;
  if (const auto standard = directory / form.file; std::filesystem::exists(standard, failure)) {
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
    return fail(error_code::data_missing, directory.string(),
                std::string("holds no ") + form.file + " and no other *.bin file", form.get_binary());
  }
  return fail(error_code::data_missing, directory.string(),
              std::string("holds no ") + form.file + " but several other *.bin files: " + listed(found),
              "name the file itself");
}

expected<void> check_records(const std::string& path, const byte_region& file, const record_form& form) {
  const std::uint64_t size = file.size();
  const std::uint64_t rest = size % form.bytes();
  if (rest == 0) return {};
  if (auto text = text_in_place_of(form.set, path, file)) return tl::make_unexpected(std::move(*text));
  return fail(error_code::data_truncated, path + ", byte " + std::to_string(size - rest),
              "the last record is incomplete: expected " + std::to_string(form.bytes()) + " bytes, found " +
                  std::to_string(rest) + " (" + std::to_string(size) + " bytes in all)",
              form.get_binary());
}

expected<data_set_ptr> open_records(const data_request& request, const record_form& form) {
  std::string path = request.path();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    std::string found = TROUPE_TRY(find_in_directory(path, form));
    path = std::move(found);
  }
  byte_region_ptr region = TROUPE_TRY(open_bytes(path));
  if (expected<void> whole = check_records(path, *region, form); !whole) return tl::make_unexpected(whole.error());
  byte_image_layout layout;
  layout.name = request.specification;
  layout.reading = request.options_text;
  layout.size = region->size() / form.bytes();
  layout.shape = {planes, side, side};
  layout.classes = form.classes;
  layout.pixels = {region, path, form.label_bytes, form.bytes()};
  layout.labels = {region, path, form.label_at, form.bytes()};
  return make_byte_image_set(std::move(layout));
}

}  // namespace

expected<data_set_ptr> open_cifar10(const data_request& request) {
  return open_records(request, {"CIFAR-10", "test_batch.bin", 1, 0, 10});
}

expected<data_set_ptr> open_cifar100(const data_request& request) {
  const bool is_coarse = request.options.toggle("coarse");
  return open_records(request, {"CIFAR-100", "test.bin", 2, is_coarse ? 0U : 1U, is_coarse ? 20U : 100U});
}

}  // namespace troupe
