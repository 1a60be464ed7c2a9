#include "messages/try.hpp"
#include "runtime/data/byte_region.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/image_folder.hpp"
#include "runtime/data/image_set.hpp"

namespace troupe {

namespace {

class folder_files final : public picture_files {
 public:
  explicit folder_files(image_folder folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return folder_.entries.size(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override {
    return static_cast<std::uint32_t>(folder_.classes.size());
  }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override { return folder_.entries[index].label; }
  [[nodiscard]] std::string place(std::uint64_t index) const override {
    const image_folder::entry& entry = folder_.entries[index];
    return folder_.folders[entry.folder] + "/" + entry.name;
  }
  expected<void> read(std::uint64_t index, std::vector<std::uint8_t>& into) const override {
    const std::string path = place(index);
    const byte_region_ptr file = TROUPE_TRY(open_bytes(path));
    if (file->size() > picture_file_bytes_max) {
      return fail(error_code::data_unreadable, path,
                  "has " + std::to_string(file->size()) + " bytes, more than a picture may have (256 MiB)",
                  "make the picture smaller");
    }
    into.resize(file->size());
    return file->read(0, into);
  }
  [[nodiscard]] std::vector<std::string> paths() const override {
    std::vector<std::string> all;
    all.reserve(size());
    for (std::uint64_t i = 0; i < size(); ++i) all.push_back(place(i));
    return all;
  }

 private:
  image_folder folder_;
};

}  // namespace

expected<data_set_ptr> open_imagefolder(const data_request& request) {
  image_choice choice = TROUPE_TRY(read_image_options(request));
  image_folder folder = TROUPE_TRY(list_image_folder(request.path()));
  const std::vector<std::uint64_t> other = folder.unreadable;
  auto files = std::make_unique<const folder_files>(std::move(folder));
  if (!other.empty() && !choice.skips_bad) {
    return fail(error_code::data_bad_format, files->place(other.front()),
                "is one of " + std::to_string(other.size()) + " pictures of a format that is not read here",
                "convert them to PNG, or leave them out with skip-bad");
  }
  return make_image_set(std::move(files), std::move(choice), request.specification,
                        image_reading(request, imagefolder_options));
}

}  // namespace troupe
