#include "runtime/architecture/read_built_in.hpp"

#include <fstream>
#include <system_error>

#include "messages/try.hpp"
#include "runtime/architecture/architecture.hpp"
#include "runtime/json/json_text.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr auto config_name = "config.json";
constexpr std::uint64_t config_bytes_max = 1 << 20;
/// Parsed JSON takes more memory than its text.
constexpr std::uint64_t config_memory_max = 32 << 20;

bool is_file(const fs::path& path) {
  std::error_code problem;
  return fs::is_regular_file(path, problem);
}

fs::path located(const fs::path& path, const file_locator& locate) {
  return locate ? locate(path) : path;
}

expected<nlohmann::json> read_config(const fs::path& named, const fs::path& file) {
  std::error_code problem;
  const std::uint64_t bytes = fs::file_size(file, problem);
  if (problem || !is_file(file)) {
    return fail(error_code::model_missing, named.string(), "there is no such file",
                "give the folder that has config.json beside the weights, or name an architecture with --arch");
  }
  if (bytes > config_bytes_max) {
    return fail(error_code::model_beyond_limits, named.string(),
                "it has " + std::to_string(bytes) + " bytes, and a configuration has at most " +
                    std::to_string(config_bytes_max),
                "look at what the file is");
  }
  std::string text(bytes, '\0');
  if (std::ifstream stream(file, std::ios::binary); !stream.read(text.data(), static_cast<std::streamsize>(bytes))) {
    return fail(error_code::model_unreadable, named.string(), "it cannot be read", "check its permissions");
  }
  return parse_json(text, config_memory_max, named.string(), config_name);
}

}  // namespace

bool is_model_folder(const fs::path& path, const file_locator& locate) {
  return is_file(located(path / config_name, locate));
}

expected<operator_graph> read_built_in(const model_with_weights& what, const file_locator& locate) {
  if (!what.arch.empty()) {
    const auto weights = TROUPE_TRY(load_weights(what.weights, locate));
    return build_named(what.arch, what.weights, weights, !what.not_strict);
  }
  const fs::path config = fs::path(what.weights) / config_name;
  const nlohmann::json document = TROUPE_TRY(read_config(config, located(config, locate)));
  const auto weights = TROUPE_TRY(load_weights(what.weights, locate));
  return build_configured(json_part(document, config.string(), config_name), what.weights, weights, !what.not_strict);
}

std::vector<fs::path> files_of(const model_with_weights& what, const file_locator& locate) {
  std::vector<fs::path> files = files_of_weights(what.weights, locate);
  if (!what.model.empty()) {
    files.insert(files.begin(), what.model);
  } else if (what.arch.empty())
    files.insert(files.begin(), fs::path(what.weights) / config_name);
  return files;
}

}  // namespace troupe
