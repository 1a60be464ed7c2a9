#include <filesystem>

#include "runtime/data/byte_image_set.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/idx_file.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t digits = 10;

/// The published name, the name with a dot that many mirrors use, and both packed; the first that exists is taken.
expected<std::string> find_file(const std::string& directory, const std::string& stem, const std::string& kind) {
  for (const char separator : {'-', '.'}) {
    std::string name = stem;
    name.append(1, separator).append(kind);
    for (const char* suffix : {"", ".gz"}) {
      const std::filesystem::path path = std::filesystem::path(directory) / (name + suffix);
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return path.string();
    }
  }
  return fail(error_code::data_missing, directory, "holds no " + stem + "-" + kind + ", neither plain nor as .gz",
              "name the directory that holds the two t10k files of MNIST");
}

expected<idx_file> open_part(const std::string& directory, const std::string& stem, const std::string& kind,
                             std::uint8_t dimensions) {
  expected<std::string> path = find_file(directory, stem, kind);
  if (!path) return tl::make_unexpected(path.error());
  return open_idx(*path, dimensions);
}

expected<void> check_directory(const std::string& directory) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(directory, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    return fail(error_code::data_missing, directory, "there is no such directory", "check the path");
  }
  if (failure) return fail(error_code::data_unreadable, directory, failure.message(), "check the permissions");
  if (status.type() != std::filesystem::file_type::directory) {
    return fail(error_code::data_unreadable, directory, "is a file, expected a directory",
                "name the directory that holds the two t10k files of MNIST");
  }
  return {};
}

}  // namespace

expected<data_set_ptr> open_mnist(const std::string& directory) {
  if (expected<void> fine = check_directory(directory); !fine) return tl::make_unexpected(fine.error());
  expected<idx_file> images = open_part(directory, "t10k-images", "idx3-ubyte", 3);
  if (!images) return tl::make_unexpected(images.error());
  expected<idx_file> labels = open_part(directory, "t10k-labels", "idx1-ubyte", 1);
  if (!labels) return tl::make_unexpected(labels.error());
  if (images->sizes[0] != labels->sizes[0]) {
    return fail(error_code::data_mismatch, images->path + ", " + labels->path,
                std::to_string(images->sizes[0]) + " images but " + std::to_string(labels->sizes[0]) + " labels",
                "fetch both files of the same set");
  }
  byte_image_layout layout;
  layout.name = "mnist:" + directory;
  layout.size = images->sizes[0];
  layout.shape = {1, images->sizes[1], images->sizes[2]};
  layout.classes = digits;
  const std::uint64_t pixels = std::uint64_t{images->sizes[1]} * images->sizes[2];
  layout.pixels = {images->region, images->path, images->payload_offset, pixels};
  layout.labels = {labels->region, labels->path, labels->payload_offset, 1};
  return make_byte_image_set(std::move(layout));
}

}  // namespace troupe
