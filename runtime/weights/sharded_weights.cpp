#include "runtime/weights/sharded_weights.hpp"

#include <map>
#include <set>
#include <string>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "messages/try.hpp"
#include "runtime/weights/safetensors_header.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

class sharded_weights {
 public:
  sharded_weights(weights_reading& index, const fs::path& folder, const file_locator& locate, const shard_reader& read)
      : index_(index), folder_(folder), locate_(locate), read_(read) {}

  expected<state_dict> read() {
    const auto map = parse_weight_map(index_.bytes(), index_.memory_left());
    if (!map) {
      const std::string cause = "its text " + map.error().cause;
      return map.error().is_too_large ? index_.beyond_limits(cause) : index_.damaged(cause);
    }
    state_dict dict;
    dict.reserve(map->size());
    for (const auto& [key, file] : *map) {
      shard& from = TROUPE_TRY(shard_of(file)).get();
      const auto found = from.find(key);
      if (found == from.end()) return lacks(key, file);
      dict.push_back({key, std::move(found->second)});
      from.erase(found);
    }
    return dict;
  }

 private:
  [[nodiscard]] tl::unexpected<error> lacks(const std::string& key, const std::string& file) const {
    return index_.damaged("it says that the tensor " + key + " is in " + file + ", which does not have it");
  }

  using shard = std::unordered_map<std::string, at::Tensor>;

  expected<std::reference_wrapper<shard>> shard_of(const std::string& name) {
    if (const auto known = shards_.find(name); known != shards_.end()) return std::ref(known->second);
    const fs::path path = TROUPE_TRY(place_of(name));
    state_dict tensors = TROUPE_TRY(read_(path));
    shard& made = shards_[name];
    for (named_tensor& each : tensors) made.emplace(std::move(each.name), std::move(each.tensor));
    return std::ref(made);
  }

  [[nodiscard]] expected<fs::path> place_of(const std::string& name) const {
    const fs::path given(name);
    const bool is_plain = !name.empty() && name != "." && name != ".." && given == given.filename() &&
                          name.find('\0') == std::string::npos;
    if (!is_plain) return outside(name, "is no plain name of a file beside it");
    const fs::path path = folder_ / given;
    if (const fs::path copy = locate_(path); copy != path) return copy;
    std::error_code problem;
    const fs::path real = fs::canonical(path, problem);
    if (problem) {
      return fail(error_code::model_not_torchscript, index_.where(),
                  "it names the file " + name + ", which is not beside it", "download all files of the folder");
    }
    const fs::path home = fs::canonical(folder_.empty() ? fs::path(".") : folder_, problem);
    const bool is_snapshot = home.parent_path().filename() == "snapshots";
    const fs::path blobs = home.parent_path().parent_path() / "blobs";
    if (real.parent_path() == home || (is_snapshot && real.parent_path() == blobs)) return path;
    return outside(name, "is a link out of its folder");
  }
  [[nodiscard]] tl::unexpected<error> outside(const std::string& name, const std::string& finding) const {
    return fail(error_code::model_unreadable, index_.where(), "it names the file \"" + name + "\", which " + finding,
                "put all files of the model into one folder, and use none that you did not ask for");
  }

  weights_reading& index_;
  const fs::path& folder_;
  const file_locator& locate_;
  const shard_reader& read_;
  std::map<std::string, shard> shards_;
};

}  // namespace

expected<state_dict> read_sharded(weights_reading& index, const fs::path& folder, const file_locator& locate,
                                  const shard_reader& read) {
  return sharded_weights(index, folder, locate, read).read();
}

std::vector<fs::path> files_of_index(weights_reading& index, const fs::path& folder) {
  std::vector<fs::path> files;
  const auto map = parse_weight_map(index.bytes(), index.memory_left());
  if (!map) return files;
  std::set<std::string> names;
  for (const auto& [key, file] : *map) {
    if (names.insert(file).second) files.push_back(folder / file);
  }
  return files;
}

}  // namespace troupe
