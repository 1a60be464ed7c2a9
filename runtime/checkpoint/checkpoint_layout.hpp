#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

// Names in a checkpoint of a pipeline, as DeepSpeed 0.19 has them (runtime/pipe/module.py, runtime/engine.py):
// DIR/TAG/layer_XX-model_states.pt with the global number of the layer, DIR/TAG/mp_rank_00_model_states.pt, and
// DIR/latest with the tag.

inline constexpr const char* latest_name = "latest";
inline constexpr const char* states_name = "mp_rank_00_model_states.pt";
/// The state of a training as training_engine saves it: moments by "NAME.MOMENT", and numbers (docs/training.md).
inline constexpr const char* optimizer_name = "optimizer.safetensors";

/// "layer_03-model_states.pt"; more digits where two do not suffice.
std::string layer_file_name(std::size_t layer);

/// E0103 for a tag that is no plain name of a file: empty, "latest", with a slash, beginning with a dot, of more than
/// 200 bytes.
expected<void> check_tag(const std::string& tag);

/// A folder of one tag.
struct tag_folder {
  std::string tag = {};
  std::filesystem::path folder = {};
  /// Its layers that have a file.
  std::map<std::size_t, std::filesystem::path> layers = {};
};

/// Whether this is the folder of a checkpoint: it has a file `latest`, or folders with files of layers; or that of one
/// tag.
bool is_checkpoint(const std::filesystem::path& dir, const file_locator& locate = {});
/// Whether the weights are those of a checkpoint: a tag is given, or the folder is one.
bool is_checkpoint_of(const model_with_weights& what, const file_locator& locate = {});
/// The tags in a folder, ascending.
std::vector<std::string> tags_in(const std::filesystem::path& dir);
/// The tag in the file `latest`. E0201 where there is none; E0210 for something else than a tag.
expected<std::string> latest_tag(const std::filesystem::path& dir, const file_locator& locate = {});
/// The files of a tag; the empty tag is the one in `latest`, or that of `dir` itself if it has files of layers. E0201,
/// which lists the tags that there are; E0217 for a checkpoint with a model axis.
expected<tag_folder> open_tag(const std::filesystem::path& dir, const std::string& tag,
                              const file_locator& locate = {});

}  // namespace troupe
