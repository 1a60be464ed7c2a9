#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// A folder as torchvision.datasets.ImageFolder takes it: each folder in it is a class, and each file below with the
/// extension of a picture is a sample.
struct image_folder {
  struct entry {
    std::uint32_t folder = 0;
    std::uint32_t label = 0;
    /// Without folders.
    std::string name;
  };
  /// Names of the classes, sorted; a label is a place in this list.
  std::vector<std::string> classes;
  /// Paths.
  std::vector<std::string> folders;
  /// Class by class; in a class by folder, then by name.
  std::vector<entry> entries;
  /// Places of entries that torchvision would read and this program cannot, such as BMP.
  std::vector<std::uint64_t> unreadable;
};

/// Reads names alone, and follows symbolic links. Errors: missing E0301; no directory, unreadable, a loop of links or
/// more than 64 folders inside of each other E0307; no class, or a class without a picture, E0306.
expected<image_folder> list_image_folder(const std::string& directory);

}  // namespace troupe
