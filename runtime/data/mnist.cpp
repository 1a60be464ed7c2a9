#include <algorithm>
#include <filesystem>
#include <optional>

#include "messages/try.hpp"
#include "runtime/data/byte_image_set.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/idx_file.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t digits = 10;
constexpr std::string_view images_kind = "images-idx3";
constexpr std::string_view labels_kind = "labels-idx1";
constexpr std::string_view gzip_suffix = ".gz";
constexpr const char* name_images = "name the directory with the two t10k files of MNIST, or a file of images";

struct image_files {
  std::string images;
  /// An error of theirs is told only if the images are right.
  expected<std::string> labels;
};

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// The kind in a file's name: "images-idx3", or "images.idx3" as many mirrors write it. npos if it is not there.
std::size_t find_kind(const std::string& name, std::string_view kind) {
  std::string dotted(kind);
  std::ranges::replace(dotted, '-', '.');
  return std::min(name.rfind(kind), name.rfind(dotted));
}

/// The name with another kind at `at`: "labels" and '1' for "labels-idx1".
std::string with_kind(std::string name, std::size_t at, std::string_view what, char dimensions) {
  constexpr std::size_t digit_at = images_kind.size() - 1;
  name.replace(at, what.size(), what);
  name[at + digit_at] = dimensions;
  return name;
}

/// The published name, the name with a dot that many mirrors use, and both packed; the first that exists is taken.
std::optional<std::string> find_file(const std::string& directory, const std::string& stem, const std::string& kind) {
  for (const char separator : {'-', '.'}) {
    std::string name = stem;
    name.append(1, separator).append(kind);
    for (const std::string_view suffix : {std::string_view(), gzip_suffix}) {
      const std::filesystem::path path = std::filesystem::path(directory) / name.append(suffix);
      if (is_there(path)) return path.string();
    }
  }
  return std::nullopt;
}

/// Sorted names of images in the directory: "train-images-idx3-ubyte.gz".
std::vector<std::string> image_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::string name = entry->path().filename().string();
    if (find_kind(name, images_kind) != std::string::npos) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

tl::unexpected<error> no_test_set(const std::string& directory, const std::string& missing) {
  /// More would hide the sentence.
  constexpr std::size_t names_shown = 8;
  std::string cause = "holds no " + missing + ", neither plain nor as .gz";
  const std::vector<std::string> others = image_names(directory);
  if (others.empty() || missing.find("labels") != std::string::npos) {
    return fail(error_code::data_missing, directory, std::move(cause), name_images);
  }
  for (std::size_t i = 0; i < std::min(others.size(), names_shown); ++i)
    cause += (i == 0 ? ", but " : ", ") + others[i];
  if (others.size() > names_shown) cause += " and " + std::to_string(others.size() - names_shown) + " more";
  return fail(error_code::data_missing, directory, std::move(cause),
              "name the images that are meant, mnist:" + (std::filesystem::path(directory) / others.front()).string());
}

expected<image_files> files_in(const std::string& directory) {
  std::optional<std::string> images = find_file(directory, "t10k-images", "idx3-ubyte");
  if (!images) return no_test_set(directory, "t10k-images-idx3-ubyte");
  std::optional<std::string> labels = find_file(directory, "t10k-labels", "idx1-ubyte");
  if (!labels) return image_files{std::move(*images), no_test_set(directory, "t10k-labels-idx1-ubyte")};
  return image_files{std::move(*images), std::move(*labels)};
}

/// Beside "train-images-idx3-ubyte.gz" lies "train-labels-idx1-ubyte", packed or not.
expected<image_files> files_of(const std::string& images) {
  const std::filesystem::path path(images);
  std::string name = path.filename().string();
  const std::size_t at = find_kind(name, images_kind);
  if (at == std::string::npos) {
    const std::size_t labels = find_kind(name, labels_kind);
    if (labels != std::string::npos) {
      name = with_kind(std::move(name), labels, "images", '3');
      return fail(error_code::data_unreadable, images, "is a file of labels, expected images",
                  "name the images, mnist:" + path.parent_path().append(name).string());
    }
    return fail(
        error_code::data_unreadable, images,
        "is a file whose name does not say which labels belong to it, expected NAME-images-idx3-ubyte[.gz]",
        "give images and labels the names NAME-images-idx3-ubyte and NAME-labels-idx1-ubyte, and name the images");
  }
  name = with_kind(std::move(name), at, "labels", '1');
  const bool is_packed = name.ends_with(gzip_suffix);
  const std::string other =
      is_packed ? name.substr(0, name.size() - gzip_suffix.size()) : name + std::string(gzip_suffix);
  for (const std::string& labels : {name, other}) {
    const std::filesystem::path beside = path.parent_path() / labels;
    if (is_there(beside)) return image_files{images, beside.string()};
  }
  return image_files{images,
                     fail(error_code::data_missing, (path.parent_path() / name).string(),
                          "there is no such file, plain or as .gz, with the labels of " + path.filename().string(),
                          "put the labels beside the images")};
}

expected<image_files> find_files(const std::string& path) {
  std::error_code failure;
  std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    if (const std::string packed = path + std::string(gzip_suffix); is_there(packed)) return files_of(packed);
    return fail(error_code::data_missing, path, "there is no such directory or file", "check the path");
  }
  if (failure) return fail(error_code::data_unreadable, path, failure.message(), "check the permissions");
  return status.type() == std::filesystem::file_type::directory ? files_in(path) : files_of(path);
}

}  // namespace

expected<data_set_ptr> open_mnist(const data_request& request) {
  const image_files files = TROUPE_TRY(find_files(request.path()));
  idx_file images = TROUPE_TRY(open_idx(files.images, 3));
  if (!files.labels) return tl::make_unexpected(files.labels.error());
  idx_file labels = TROUPE_TRY(open_idx(*files.labels, 1));
  if (images.sizes[0] != labels.sizes[0]) {
    return fail(error_code::data_mismatch, images.path + ", " + labels.path,
                std::to_string(images.sizes[0]) + " images but " + std::to_string(labels.sizes[0]) + " labels",
                "fetch both files of the same set");
  }
  byte_image_layout layout;
  layout.name = "mnist:" + request.path();
  layout.size = images.sizes[0];
  layout.shape = {1, images.sizes[1], images.sizes[2]};
  layout.classes = digits;
  layout.takes_more_classes = true;
  const std::uint64_t pixels = std::uint64_t{images.sizes[1]} * images.sizes[2];
  layout.pixels = {images.region, images.path, images.payload_offset, pixels};
  layout.labels = {labels.region, labels.path, labels.payload_offset, 1};
  return make_byte_image_set(std::move(layout));
}

}  // namespace troupe
