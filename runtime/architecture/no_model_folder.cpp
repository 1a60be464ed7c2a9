#include "runtime/architecture/no_model_folder.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/checkpoint/checkpoint_layout.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t looked_at_max = 1000;

std::vector<fs::path> entries_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code problem;
  fs::directory_iterator at(folder, problem);
  while (!problem && found.size() < looked_at_max && at != fs::directory_iterator()) {
    found.push_back(at->path());
    at.increment(problem);
  }
  std::ranges::sort(found);
  return found;
}

template <std::size_t N>
std::vector<fs::path> files_with(const std::vector<fs::path>& entries, const std::array<std::string_view, N>& ends) {
  std::vector<fs::path> found;
  for (const fs::path& each : entries) {
    std::error_code problem;
    if (std::ranges::find(ends, each.extension().string()) == ends.end()) continue;
    if (fs::is_regular_file(each, problem)) found.push_back(each);
  }
  return found;
}

/// A folder with config.json, as far down as "snapshots/COMMIT" of Hugging Face's cache; empty for none.
fs::path model_below(const std::vector<fs::path>& entries, int levels) {
  for (const fs::path& each : entries) {
    std::error_code problem;
    if (!fs::is_directory(each, problem)) continue;
    if (fs::is_regular_file(each / "config.json", problem)) return each;
    if (levels == 1) continue;
    if (fs::path found = model_below(entries_in(each), levels - 1); !found.empty()) return found;
  }
  return {};
}

std::string fix_of(const fs::path& folder) {
  constexpr std::array<std::string_view, 2> models{".pt2", ".pt"};
  constexpr std::array<std::string_view, 5> weights{".safetensors", ".bin", ".pth", ".th", ".ckpt"};
  if (is_checkpoint(folder)) {
    return "give it with --weights, as it is a checkpoint of a pipeline, and its model with --arch NAME or --model "
           "FILE";
  }
  const std::vector<fs::path> entries = entries_in(folder);
  if (const auto found = files_with(entries, models); !found.empty()) {
    return (found.size() == 1 ? "name the file inside it: " : "name one of the files inside it, such as ") +
           found.front().string();
  }
  if (const auto found = files_with(entries, weights); !found.empty()) {
    return "put the config.json that belongs to the weights into the folder; or, where their architecture is built in "
           "by name, --arch NAME --weights " +
           (found.size() == 1 ? found.front() : folder).string();
  }
  if (const fs::path below = model_below(entries, 2); !below.empty())
    return "give the folder inside it: " + below.string();
  return "give a folder that has config.json and the weights, or the .pt2 or .pt file of a model";
}

}  // namespace

tl::unexpected<error> no_model_in(const fs::path& folder) {
  return fail(error_code::model_is_directory, folder.string(), "the path is a directory, and has no config.json",
              fix_of(folder));
}

}  // namespace troupe
