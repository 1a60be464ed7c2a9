#include "runtime/watch/checkpoint_folder.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <tuple>

#include <sys/stat.h>

#include "runtime/checkpoint/checkpoint_layout.hpp"
#include <troupe/scalars.hpp>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> file_endings = {".safetensors", ".pt",  ".pt2", ".pth",
                                                          ".ckpt",        ".bin", ".th"};
constexpr std::array<std::string_view, 4> unfinished_endings = {".tmp", ".part", ".partial", ".incomplete"};
/// A folder has thousands of files at most: a checkpoint that is larger has a stamp of the first ones.
constexpr std::size_t files_max = 100'000;

template <class Endings>
bool ends_with_any(std::string_view name, const Endings& endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_of_a_writer(const std::string& name) {
  return name.starts_with('.') || name.starts_with("tmp") || ends_with_any(name, unfinished_endings);
}

bool is_layer(const std::string& name) {
  return name.starts_with("layer_") && name.ends_with("-model_states.pt");
}

enum class folder_form : std::uint8_t { none, weights, tag };

folder_form form_of(const fs::path& folder) {
  std::error_code problem;
  std::size_t left = files_max;
  for (fs::directory_iterator each(folder, problem), end; !problem && each != end && left-- > 0;
       each.increment(problem)) {
    const std::string name = each->path().filename().string();
    if (is_layer(name)) return folder_form::tag;
    const bool is_model = name.starts_with("model") || name.starts_with("pytorch_model");
    if (is_model && ends_with_any(name, std::array<std::string_view, 3>{".safetensors", ".bin", ".index.json"})) {
      return folder_form::weights;
    }
  }
  return folder_form::none;
}

/// FNV-1a.
void mix(std::uint64_t& hash, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211U;
}

bool add_file(const fs::path& path, checkpoint_stamp& to) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return false;
  const std::string name = path.filename().string();
  mix(to.hash, name.c_str(), name.size() + 1);
  for (const std::int64_t part : {static_cast<std::int64_t>(now.st_ino), static_cast<std::int64_t>(now.st_size),
                                  static_cast<std::int64_t>(now.st_mtim.tv_sec), now.st_mtim.tv_nsec}) {
    mix(to.hash, &part, sizeof part);
  }
  std::error_code ignored;
  to.newest = std::max(to.newest, fs::last_write_time(path, ignored));
  return true;
}

std::optional<std::uint64_t> named_step(const fs::path& folder) {
  const auto tag = latest_tag(folder);
  return tag ? checkpoint_step(*tag) : std::nullopt;
}

}  // namespace

expected<std::vector<seen_checkpoint>> checkpoints_in(const fs::path& folder) {
  std::vector<seen_checkpoint> found;
  std::error_code problem;
  const auto latest = named_step(folder);
  for (fs::directory_iterator each(folder, problem), end; !problem && each != end; each.increment(problem)) {
    const std::string name = each->path().filename().string();
    const auto step = checkpoint_step(name);
    std::error_code ignored;
    if (!step || is_of_a_writer(name) || each->is_symlink(ignored)) continue;
    if (each->is_regular_file(ignored) && ends_with_any(name, file_endings)) found.push_back({*step, name});
    if (!each->is_directory(ignored)) continue;
    const folder_form form = form_of(each->path());
    if (form != folder_form::none)
      found.push_back({*step, name, form == folder_form::tag && latest && *step > *latest});
  }
  if (problem == std::errc::no_such_file_or_directory) {
    return fail(error_code::model_missing, folder.string(), "there is no such folder",
                "name the folder that the training writes its checkpoints to");
  }
  if (problem) {
    return fail(error_code::model_unreadable, folder.string(), problem.message(),
                "name a folder that can be read, with checkpoints in it");
  }
  std::ranges::sort(found, {}, [](const seen_checkpoint& each) { return std::tie(each.step, each.name); });
  return found;
}

std::optional<checkpoint_stamp> stamp_of(const fs::path& checkpoint) {
  checkpoint_stamp made{.hash = 14695981039346656037U, .newest = fs::file_time_type::min()};
  std::error_code problem;
  if (!fs::is_directory(checkpoint, problem)) {
    return add_file(checkpoint, made) ? std::optional(made) : std::nullopt;
  }
  std::vector<fs::path> files;
  for (fs::directory_iterator each(checkpoint, problem), end; !problem && each != end && files.size() < files_max;
       each.increment(problem)) {
    files.push_back(each->path());
  }
  if (problem) return std::nullopt;
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    if (!add_file(file, made)) return std::nullopt;
  }
  return made;
}

}  // namespace troupe
