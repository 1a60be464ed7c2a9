#include <algorithm>
#include <array>
#include <system_error>

#include "messages/try.hpp"
#include "runtime/archive/file_kinds.hpp"
#include "runtime/weights/name_prefixes.hpp"
#include "runtime/weights/pickled_file.hpp"
#include "runtime/weights/safetensors_file.hpp"
#include "runtime/weights/sharded_weights.hpp"
#include <troupe/weights.hpp>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// What a folder of weights has, in the order of choice.
constexpr std::array<std::string_view, 4> folder_files{"model.safetensors.index.json", "model.safetensors",
                                                       "pytorch_model.bin.index.json", "pytorch_model.bin"};
/// The shortest file of any format has more.
constexpr std::size_t bytes_min = 9;

bool is_file(const fs::path& path) {
  std::error_code problem;
  return fs::is_regular_file(path, problem);
}

/// Files that may have weights, by their names.
std::vector<fs::path> weights_beside(const fs::path& folder) {
  constexpr std::array<std::string_view, 6> ends{".safetensors", ".bin", ".pt", ".pth", ".th", ".ckpt"};
  constexpr std::size_t looked_at_max = 1000;
  std::vector<fs::path> found;
  std::error_code problem;
  fs::directory_iterator at(folder, problem);
  for (std::size_t i = 0; !problem && i < looked_at_max && at != fs::directory_iterator(); ++i) {
    const bool is_named_so = std::ranges::find(ends, at->path().extension().string()) != ends.end();
    if (is_named_so && is_file(at->path())) found.push_back(at->path().filename());
    at.increment(problem);
  }
  std::ranges::sort(found);
  return found;
}

/// The first of these files that the folder has; empty for none.
fs::path file_in(const fs::path& folder, const file_locator& locate) {
  for (const std::string_view name : folder_files) {
    if (is_file(locate(folder / name))) return folder / name;
  }
  return {};
}

/// What to do about a folder that has none of folder_files.
std::string fix_of_folder(const fs::path& folder) {
  const auto beside = weights_beside(folder);
  for (const std::string_view name : folder_files) {
    std::error_code problem;
    if (!fs::is_directory(folder / name, problem)) continue;
    return "put the file in the place of the directory " + (folder / name).string();
  }
  if (!is_file(folder / "config.json")) {
    if (beside.empty()) return "give the file that has the weights, or its folder";
    return "name the file itself: " + (folder / beside.front()).string();
  }
  const bool is_whole =
      beside.size() == 1 && (beside.front().extension() == ".safetensors" || beside.front().extension() == ".bin");
  if (!is_whole)
    return "download the weights, model.safetensors, into the folder, and their index if they are in several files";
  const std::string name = beside.front().extension() == ".bin" ? "pytorch_model.bin" : "model.safetensors";
  return "rename " + (folder / beside.front()).string() + " to " + name;
}

/// The file that holds the weights, or their index.
expected<fs::path> main_file(const fs::path& given, const file_locator& locate) {
  if (is_file(locate(given))) return given;
  const fs::path found = file_in(given, locate);
  std::error_code problem;
  if (!found.empty() || !fs::is_directory(given, problem)) return found.empty() ? given : found;
  std::string names;
  for (const std::string_view name : folder_files) names += (names.empty() ? "" : ", ") + std::string(name);
  return fail(error_code::model_not_torchscript, given.string(),
              "the folder has no weights: none of the files " + names, fix_of_folder(given));
}

bool is_index(std::string_view bytes) {
  return !is_safetensors(bytes) && bytes.starts_with('{');
}

fs::path as_named(const fs::path& path) {
  return path;
}

tl::unexpected<error> unknown(const weights_reading& reading) {
  const auto refuse = [&](error_code code, const std::string& cause, const std::string& fix) {
    return fail(code, reading.where(), cause, fix);
  };
  const std::string_view bytes = reading.bytes();
  if (bytes.empty()) return reading.truncated("it is empty (0 bytes)");
  if (bytes.size() < bytes_min) return reading.truncated("it has " + std::to_string(bytes.size()) + " bytes");
  if (is_lfs_pointer(bytes)) {
    return refuse(error_code::model_lfs_pointer, "the file is a git-lfs pointer, not the weights themselves",
                  "run `git lfs pull` in the repository that it comes from");
  }
  if (is_tar_file(bytes)) {
    return refuse(error_code::model_legacy_pickle,
                  "the file is in the format of PyTorch 0.1.9 and older, a tar file, which is not read",
                  "load it in Python and save it again: torch.save(torch.load(FILE, weights_only=False), "
                  "\"weights.pt\"), if you trust it as you would trust a program");
  }
  const look_alike* const look = look_alike_of(bytes);
  const bool has_fix = look != nullptr && !look->fix.empty();
  return refuse(error_code::model_not_torchscript,
                "the file has no weights: it is neither a safetensors file nor one of torch.save" +
                    (look == nullptr ? std::string() : ", and looks like " + std::string(look->name)),
                has_fix ? std::string(look->fix)
                        : "download it again if it was downloaded; else save the weights in Python: "
                          "safetensors.torch.save_file(model.state_dict(), \"model.safetensors\") or "
                          "torch.save(model.state_dict(), \"weights.pt\")");
}

/// A file that holds tensors itself; names as in the file.
expected<state_dict> read_tensors(weights_reading& reading) {
  const std::string_view bytes = reading.bytes();
  if (bytes.size() < bytes_min) return unknown(reading);
  if (is_zip_file(bytes)) return read_zip_weights(reading);
  if (is_safetensors(bytes)) return read_safetensors(reading);
  if (is_pickle(bytes)) return read_legacy_weights(reading);
  return unknown(reading);
}

expected<state_dict> read_shard(const fs::path& file) {
  weights_reading reading(TROUPE_TRY(mapped_file::open(file)));
  return read_tensors(reading);
}

}  // namespace

expected<state_dict> load_weights(const fs::path& given, const file_locator& given_locate) {
  const file_locator locate = given_locate ? given_locate : as_named;
  const fs::path file = TROUPE_TRY(main_file(given, locate));
  weights_reading reading(TROUPE_TRY(mapped_file::open(locate(file))));
  state_dict dict = is_index(reading.bytes())
                        ? TROUPE_TRY(read_sharded(reading, file.parent_path(), locate, read_shard))
                        : TROUPE_TRY(read_tensors(reading));
  take_off_wrappers(dict);
  TROUPE_TRY(check_names(dict, reading.where()));
  return dict;
}

std::vector<fs::path> files_of_weights(const fs::path& given, const file_locator& given_locate) {
  const file_locator locate = given_locate ? given_locate : as_named;
  const fs::path file = main_file(given, locate).value_or(given);
  std::vector<fs::path> files{file};
  const auto mapped = mapped_file::open(locate(file));
  if (!mapped || !is_index((*mapped)->bytes())) return files;
  weights_reading reading(*mapped);
  for (fs::path& each : files_of_index(reading, file.parent_path())) files.push_back(std::move(each));
  return files;
}

}  // namespace troupe
