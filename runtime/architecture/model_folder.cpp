#include "runtime/architecture/model_folder.hpp"

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/json/json_part.hpp"
#include "runtime/json/json_text.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr auto config_name = "config.json";
constexpr auto modules_name = "modules.json";
constexpr auto pooling_config_name = "1_Pooling/config.json";
constexpr std::uint64_t config_bytes_max = 1 << 20;
/// Parsed JSON takes more memory than its text.
constexpr std::uint64_t config_memory_max = 32 << 20;
constexpr auto embedding_fix =
    "export the model from Python as a .pt2 file, or take modules.json away to get last_hidden_state";

tl::unexpected<error> unsupported(const json_part& part, const std::string& finding) {
  return fail(error_code::architecture_unknown, part.where(), finding, embedding_fix);
}

/// The class without its module: "Pooling" of "sentence_transformers.models.Pooling".
std::string class_in(const std::string& type) {
  return type.substr(type.rfind('.') + 1);
}

expected<bool> is_first_token(const json_part& config) {
  bool is_mean = false;
  bool is_first = false;
  for (const auto& [key, value] : TROUPE_TRY(config.members())) {
    if (!key.starts_with("pooling_mode_") || !TROUPE_TRY(value.truth())) continue;
    if (key != "pooling_mode_mean_tokens" && key != "pooling_mode_cls_token") {
      return unsupported(config, key + " is not built in");
    }
    (key == "pooling_mode_cls_token" ? is_first : is_mean) = true;
  }
  if (is_mean == is_first) return unsupported(config, "one of the mean over tokens and the first token is built in");
  return is_first;
}

}  // namespace

bool model_folder::has(const fs::path& file) const {
  std::error_code problem;
  return fs::is_regular_file(locate_(folder_ / file), problem);
}

bool model_folder::is_model() const {
  return has(config_name);
}

fs::path model_folder::config_file() const {
  return folder_ / config_name;
}

expected<nlohmann::json> model_folder::read(const fs::path& name) const {
  const std::string named = (folder_ / name).string();
  const fs::path file = locate_(folder_ / name);
  std::error_code problem;
  const std::uint64_t bytes = fs::file_size(file, problem);
  if (problem || !has(name)) {
    return fail(error_code::model_missing, named, "there is no such file",
                "give the folder that has config.json beside the weights, or name an architecture with --arch");
  }
  if (bytes > config_bytes_max) {
    return fail(error_code::model_beyond_limits, named,
                "it has " + std::to_string(bytes) + " bytes, and a configuration has at most " +
                    std::to_string(config_bytes_max),
                "look at the file, which is none that transformers wrote");
  }
  std::string text(bytes, '\0');
  if (std::ifstream stream(file, std::ios::binary); !stream.read(text.data(), static_cast<std::streamsize>(bytes))) {
    return fail(error_code::model_unreadable, named, "it cannot be read", "check its permissions");
  }
  return parse_json(text, config_memory_max, named, name.filename().string());
}

expected<nlohmann::json> model_folder::config() const {
  return read(config_name);
}

expected<std::optional<sentence_embedding>> model_folder::embedding() const {
  if (!has(modules_name)) return std::nullopt;
  const nlohmann::json document = TROUPE_TRY(read(modules_name));
  sentence_embedding made;
  bool is_pooled = false;
  for (const json_part& each :
       TROUPE_TRY(json_part(document, (folder_ / modules_name).string(), modules_name).items())) {
    const std::string type = class_in(TROUPE_TRY(TROUPE_TRY(each.at("type")).text()));
    const std::string path = TROUPE_TRY(TROUPE_TRY(each.at("path")).text());
    if (type == "Transformer" && path.empty() && !is_pooled) continue;
    if (type == "Normalize" && is_pooled) {
      made.is_normalized = true;
    } else if (type == "Pooling" && !is_pooled && fs::path(path) / config_name == fs::path(pooling_config_name)) {
      const nlohmann::json pooling = TROUPE_TRY(read(pooling_config_name));
      made.from_first_token =
          TROUPE_TRY(is_first_token(json_part(pooling, (folder_ / pooling_config_name).string(), pooling_config_name)));
      is_pooled = true;
    } else {
      return unsupported(each, fmt::format("the module {} at \"{}\" is not built in", type, path));
    }
  }
  return is_pooled ? std::optional(made) : std::nullopt;
}

std::vector<fs::path> model_folder::files() const {
  std::vector<fs::path> all;
  for (const char* name : {config_name, modules_name, pooling_config_name}) {
    if (has(name)) all.push_back(folder_ / name);
  }
  return all;
}

}  // namespace troupe
