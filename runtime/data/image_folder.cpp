#include "runtime/data/image_folder.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "messages/try.hpp"
#include "runtime/suggest/read_text.hpp"

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> read_extensions = {".jpg", ".jpeg", ".png"};
/// Others that torchvision's ImageFolder takes.
constexpr std::array<std::string_view, 6> other_extensions = {".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};
constexpr std::size_t folders_deep_max = 64;

using inode = std::pair<dev_t, ino_t>;

struct folder_content {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};

tl::unexpected<error> unreadable_folder(const std::string& path, std::string cause, std::string fix) {
  return fail(error_code::data_unreadable, path, std::move(cause), std::move(fix));
}

expected<folder_content> listed_content(const std::string& directory) {
  folder_content found;
  std::error_code failure;
  for (fs::directory_iterator entry(directory, failure), end; !failure && entry != end; entry.increment(failure)) {
    std::error_code ignored;
    const bool is_folder = entry->is_directory(ignored);
    (is_folder ? found.folders : found.files).push_back(entry->path().filename().string());
  }
  if (failure) return unreadable_folder(directory, "cannot be listed: " + failure.message(), "check the permissions");
  std::ranges::sort(found.folders);
  std::ranges::sort(found.files);
  return found;
}

bool has_extension(const std::string& name, std::span<const std::string_view> extensions) {
  const std::string lower = lower_case(name);
  return std::ranges::any_of(extensions, [&](std::string_view each) { return lower.ends_with(each); });
}

struct walked_folder {
  std::string path;
  std::vector<std::string> files;
};

/// All folders below, this one too. `above` are those it is in, by which a loop of links is seen.
expected<void> walk_folder(const std::string& directory, std::vector<inode>& above, std::vector<walked_folder>& into) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0)
    return unreadable_folder(directory, "cannot be read", "check the permissions");
  const inode self{status.st_dev, status.st_ino};
  if (std::ranges::find(above, self) != above.end()) {
    return unreadable_folder(directory, "is a symbolic link to a folder that it is in", "remove the link");
  }
  if (above.size() >= folders_deep_max) {
    return unreadable_folder(directory, "lies more than 64 folders deep", "give a folder with fewer levels");
  }
  folder_content content = TROUPE_TRY(listed_content(directory));
  above.push_back(self);
  into.push_back({directory, std::move(content.files)});
  for (const std::string& each : content.folders) {
    std::string below = directory;
    below.append("/").append(each);
    TROUPE_TRY(walk_folder(below, above, into));
  }
  above.pop_back();
  return {};
}

void add_files(walked_folder folder, std::uint32_t label, image_folder& into) {
  const auto index = static_cast<std::uint32_t>(into.folders.size());
  into.folders.push_back(std::move(folder.path));
  for (std::string& name : folder.files) {
    const bool is_other = has_extension(name, other_extensions);
    if (!is_other && !has_extension(name, read_extensions)) continue;
    if (is_other) into.unreadable.push_back(into.entries.size());
    into.entries.push_back({index, label, std::move(name)});
  }
}

expected<void> add_class(const std::string& directory, image_folder& into) {
  std::vector<walked_folder> folders;
  std::vector<inode> above;
  TROUPE_TRY(walk_folder(directory, above, folders));
  std::ranges::sort(folders, {}, &walked_folder::path);
  const std::size_t before = into.entries.size();
  const auto label = static_cast<std::uint32_t>(into.classes.size() - 1);
  for (walked_folder& each : folders) add_files(std::move(each), label, into);
  if (into.entries.size() > before) return {};
  return fail(error_code::data_empty, directory, "has no file that ends in .jpg, .jpeg or .png",
              "remove the folder if it is no class, or put its pictures there");
}

}  // namespace

expected<image_folder> list_image_folder(const std::string& directory) {
  std::error_code ignored;
  const fs::file_status status = fs::status(directory, ignored);
  if (!fs::exists(status))
    return fail(error_code::data_missing, directory, "there is no such directory", "check the path");
  if (!fs::is_directory(status)) {
    return unreadable_folder(directory, "is no directory", "name the directory that has a folder for each class");
  }
  const folder_content content = TROUPE_TRY(listed_content(directory));
  if (content.folders.empty()) {
    return fail(error_code::data_empty, directory, "has no folders, of which each would be a class",
                "put the pictures of each class into a folder of its own");
  }
  image_folder made;
  const std::string prefix = directory.ends_with('/') ? directory : directory + "/";
  for (const std::string& name : content.folders) {
    made.classes.push_back(name);
    TROUPE_TRY(add_class(prefix + name, made));
  }
  return made;
}

}  // namespace troupe
