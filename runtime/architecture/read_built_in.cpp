#include "runtime/architecture/read_built_in.hpp"

#include <system_error>

#include "messages/try.hpp"
#include "runtime/architecture/architecture.hpp"
#include "runtime/architecture/model_folder.hpp"
#include "runtime/architecture/no_model_folder.hpp"
#include "runtime/checkpoint/load_files.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

file_locator or_as_named(const file_locator& locate) {
  return locate ? locate : [](const fs::path& path) { return path; };
}

expected<void> check_has_config(const model_with_weights& what, const file_locator& locate) {
  if (is_model_folder(what.weights, locate)) return {};
  std::error_code problem;
  const auto kind = fs::status(locate(what.weights), problem).type();
  if (kind == fs::file_type::not_found) {
    return fail(error_code::model_missing, what.weights, "there is no such file or folder",
                "check the path; a relative one starts at " + fs::current_path(problem).string());
  }
  if (kind == fs::file_type::directory) return no_model_in(what.weights);
  if (what.not_strict) {
    return fail(error_code::flags_contradict, "--not-strict", "no weights are given beside " + what.weights,
                "leave it out, or add --weights FILE");
  }
  return fail(error_code::model_missing, what.weights,
              "it is no folder with a config.json, which says the architecture",
              "give the folder that has config.json beside the weights, or name an architecture with --arch");
}

}  // namespace

bool is_model_folder(const fs::path& path, const file_locator& locate) {
  const file_locator where = or_as_named(locate);
  return model_folder(path, where).is_model();
}

expected<operator_graph> read_built_in(const model_with_weights& what, const file_locator& given_locate) {
  const file_locator locate = or_as_named(given_locate);
  if (!what.arch.empty() && is_checkpoint_of(what, locate)) {
    const auto structure = TROUPE_TRY(structure_of_named(what.arch));
    const auto from = TROUPE_TRY(open_tag(what.weights, what.tag, locate));
    const auto weights =
        TROUPE_TRY(by_model_names(from, TROUPE_TRY(load_layers(from, locate)), weights_by_layer(structure)));
    return build_named(what.arch, from.folder.string(), weights, !what.not_strict);
  }
  if (!what.arch.empty()) {
    const auto weights = TROUPE_TRY(load_weights(what.weights, locate));
    return build_named(what.arch, what.weights, weights, !what.not_strict);
  }
  TROUPE_TRY(check_has_config(what, locate));
  const model_folder folder(what.weights, locate);
  const nlohmann::json document = TROUPE_TRY(folder.config());
  const auto embedding = TROUPE_TRY(folder.embedding());
  const auto weights = TROUPE_TRY(load_weights(what.weights, locate));
  const std::string config = folder.config_file().string();
  return build_configured(json_part(document, config, "config.json"), what.weights, weights, !what.not_strict,
                          embedding);
}

std::vector<fs::path> files_of(const model_with_weights& what, const file_locator& given_locate) {
  const file_locator locate = or_as_named(given_locate);
  const bool is_checkpoint = !(what.arch.empty() && what.model.empty()) && is_checkpoint_of(what, locate);
  std::vector<fs::path> files;
  if (!what.model.empty()) {
    files.emplace_back(what.model);
  } else if (what.arch.empty()) {
    files = model_folder(what.weights, locate).files();
  }
  for (fs::path& each :
       is_checkpoint ? files_of_checkpoint(what.weights, what.tag, locate) : files_of_weights(what.weights, locate)) {
    files.push_back(std::move(each));
  }
  return files;
}

}  // namespace troupe
