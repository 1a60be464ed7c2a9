#include "runtime/checkpoint/checkpoint_layout.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "messages/try.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t tag_bytes_max = 200;
/// More layers than any pipeline has.
constexpr std::size_t layers_max = 100'000;
constexpr std::string_view layer_prefix = "layer_";
constexpr std::string_view states_suffix = "-model_states.pt";

fs::path located(const fs::path& path, const file_locator& locate) {
  return locate ? locate(path) : path;
}

bool is_file(const fs::path& path) {
  std::error_code problem;
  return fs::is_regular_file(path, problem);
}

struct layer_file {
  std::size_t layer = 0;
  /// "model_01" of "layer_03-model_01-model_states.pt".
  std::string axis;
};

std::optional<layer_file> parse(std::string_view name) {
  if (!name.starts_with(layer_prefix) || !name.ends_with(states_suffix)) return std::nullopt;
  if (name.size() < layer_prefix.size() + states_suffix.size()) return std::nullopt;
  name.remove_prefix(layer_prefix.size());
  name.remove_suffix(states_suffix.size());
  layer_file found;
  const char* const end = name.data() + name.size();
  const auto [stopped, problem] = std::from_chars(name.data(), end, found.layer);
  if (problem != std::errc{} || found.layer >= layers_max) return std::nullopt;
  if (stopped != end && *stopped != '-') return std::nullopt;
  if (stopped != end) found.axis.assign(stopped + 1, end);
  return found;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code problem;
  fs::directory_iterator at(folder, problem);
  while (!problem && at != fs::directory_iterator()) {
    found.push_back(at->path());
    at.increment(problem);
  }
  std::ranges::sort(found);
  return found;
}

bool is_tag_folder(const fs::path& folder) {
  std::error_code problem;
  if (!fs::is_directory(folder, problem) || folder.filename().string().starts_with('.')) return false;
  return std::ranges::any_of(entries_of(folder),
                             [](const fs::path& each) { return parse(each.filename().string()).has_value(); });
}

std::string tags_text(const fs::path& dir) {
  std::string text;
  for (const std::string& each : tags_in(dir)) text += (text.empty() ? "" : ", ") + each;
  return text;
}

tl::unexpected<error> no_such_tag(const fs::path& dir, const std::string& tag) {
  const std::string there = tags_text(dir);
  return fail(error_code::model_missing, (dir / tag).string(), "there is no checkpoint of this tag",
              there.empty() ? "give the folder that save_checkpoint() was given" : "give one of the tags " + there);
}

/// Where the folder itself is on another machine, its files are found one by one.
void find_copies(tag_folder& into, const file_locator& locate) {
  constexpr std::size_t gap_max = 1'000;  // layers without weights need no file
  for (std::size_t layer = 0, last = 0; layer < last + gap_max; ++layer) {
    const fs::path file = into.folder / layer_file_name(layer);
    if (!is_file(located(file, locate))) continue;
    into.layers.emplace(layer, file);
    last = layer;
  }
}

/// Whether this is the folder of one tag, here or, by its files, on another machine.
bool has_layers(const fs::path& folder, const file_locator& locate) {
  if (is_tag_folder(folder)) return true;
  tag_folder copies{.folder = folder};
  if (locate) find_copies(copies, locate);
  return !copies.layers.empty();
}

fs::path without_last_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

std::string layer_file_name(std::size_t layer) {
  return fmt::format("layer_{:02}-model_states.pt", layer);
}

expected<void> check_tag(const std::string& tag) {
  const auto refuse = [&](const std::string& cause) {
    return fail(error_code::value_out_of_range, "tag", cause, "give a name of a folder, such as \"step1000\"");
  };
  if (tag.empty()) return refuse("it is empty");
  if (tag == latest_name) return refuse("\"latest\" is the name of the file that says the last tag");
  if (tag.size() > tag_bytes_max) return refuse("it has more than 200 bytes");
  if (tag.front() == '.') return refuse("it begins with a dot");
  if (tag.find('/') != std::string::npos) return refuse("it has a slash");
  const auto is_control = [](unsigned char one) { return one < ' ' || one == 0x7f; };
  if (std::ranges::any_of(tag, is_control)) return refuse("it has a control character");
  return {};
}

std::vector<std::string> tags_in(const fs::path& dir) {
  std::vector<std::string> tags;
  for (const fs::path& each : entries_of(dir)) {
    if (is_tag_folder(each)) tags.push_back(each.filename().string());
  }
  return tags;
}

bool is_checkpoint(const fs::path& dir, const file_locator& locate) {
  return is_file(located(dir / latest_name, locate)) || !tags_in(dir).empty() ||
         has_layers(without_last_slash(dir), locate);
}

bool is_checkpoint_of(const model_with_weights& what, const file_locator& locate) {
  return !what.tag.empty() || is_checkpoint(what.weights, locate);
}

expected<std::string> latest_tag(const fs::path& dir, const file_locator& locate) {
  const fs::path file = dir / latest_name;
  if (!is_file(located(file, locate))) {
    const std::string there = tags_text(dir);
    return fail(error_code::model_missing, file.string(), "there is no such file, which says the tag to load",
                there.empty() ? "give the folder that save_checkpoint() was given" : "give one of the tags " + there);
  }
  std::ifstream stream(located(file, locate), std::ios::binary);
  std::string tag(tag_bytes_max + 2, '\0');
  stream.read(tag.data(), static_cast<std::streamsize>(tag.size()));
  tag.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  while (!tag.empty() && (tag.back() == '\n' || tag.back() == '\r' || tag.back() == ' ')) tag.pop_back();
  if (const auto fine = check_tag(tag); !fine) {
    return fail(error_code::model_unreadable, file.string(), "it holds no tag: " + fine.error().cause,
                "give the tag, or write into the file the name of the folder to load");
  }
  return tag;
}

expected<tag_folder> open_tag(const fs::path& given, const std::string& tag, const file_locator& locate) {
  const fs::path dir = without_last_slash(given);
  if (tag.empty() && has_layers(dir, locate)) return open_tag(dir.parent_path(), dir.filename().string(), locate);
  tag_folder found{.tag = tag.empty() ? TROUPE_TRY(latest_tag(dir, locate)) : tag};
  TROUPE_TRY(check_tag(found.tag));
  found.folder = dir / found.tag;
  for (const fs::path& each : entries_of(found.folder)) {
    const auto parsed = parse(each.filename().string());
    if (!parsed) continue;
    if (!parsed->axis.empty()) {
      return fail(error_code::model_unsupported, each.string(),
                  "the checkpoint has a model axis (" + parsed->axis + "): each of its layers is split over processes",
                  "save it in DeepSpeed with a topology that has no model axis");
    }
    found.layers.emplace(parsed->layer, each);
  }
  if (found.layers.empty() && locate) find_copies(found, locate);
  if (found.layers.empty()) return no_such_tag(dir, found.tag);
  return found;
}

}  // namespace troupe
