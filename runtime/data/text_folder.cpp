#include "runtime/data/text_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "messages/try.hpp"
#include "runtime/data/text_options.hpp"
#include "runtime/json/json_part.hpp"
#include "runtime/json/json_text.hpp"
#include "runtime/os/input_file.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

constexpr std::size_t configuration_bytes_max = 16u << 20;
constexpr std::uint64_t configuration_memory_max = 256u << 20;
const std::vector<std::string> known_inputs = {"input_ids", "attention_mask", "token_type_ids"};

/// A JSON file that need not be there: then an empty object.
expected<nlohmann::json> read_configuration(const std::string& path) {
  if (std::error_code none; !std::filesystem::exists(path, none)) return nlohmann::json::object();
  const auto text = read_small_input(path, configuration_bytes_max);
  if (!text) return fail(error_code::data_unreadable, path, text.error().cause, "make the file readable");
  if (text->size() > configuration_bytes_max) {
    return fail(error_code::model_beyond_limits, path, "has more than 16 MiB", "name the folder of a model");
  }
  return parse_json(*text, configuration_memory_max, path, path);
}

/// Some files have {"content": "<s>", ...} in place of a text.
expected<std::optional<token_id>> token_named(const json_part& file, std::string_view key, const tokenizer& reader) {
  auto found = TROUPE_TRY(file.find(key));
  if (found && !found->is_null()) {
    const auto content = found->find("content");
    const std::string token = TROUPE_TRY(content && *content ? (*content)->text() : found->text());
    return reader.token_to_id(token);
  }
  return std::optional<token_id>();
}

expected<std::optional<token_id>> token_numbered(const json_part& file, std::string_view key, const tokenizer& reader) {
  const auto found = TROUPE_TRY(file.find(key));
  if (!found || found->is_null() || found->is_array()) return std::optional<token_id>();
  const std::int64_t id = TROUPE_TRY(found->integer());
  if (id < 0 || static_cast<std::uint64_t>(id) >= reader.vocabulary_size()) return std::optional<token_id>();
  return std::optional(static_cast<token_id>(id));
}

expected<std::optional<token_id>> begin_in(const json_part& settings, const json_part& model, const tokenizer& reader) {
  for (const std::string key : {"bos_token", "eos_token"}) {
    if (const auto named = TROUPE_TRY(token_named(settings, key, reader))) return named;
    if (const auto numbered = TROUPE_TRY(token_numbered(model, key + "_id", reader))) return numbered;
  }
  return std::optional<token_id>();
}

expected<bool> takes_types(const json_part& settings, const json_part& model) {
  if (const auto named = TROUPE_TRY(settings.find("model_input_names"))) {
    const std::vector<std::string> names = TROUPE_TRY(texts_of(*named));
    return std::ranges::find(names, "token_type_ids") != names.end();
  }
  if (TROUPE_TRY(text_or(model, "model_type", "")) == "bert") return true;
  return TROUPE_TRY(text_or(settings, "tokenizer_class", "")).starts_with("Bert");
}

expected<std::vector<std::string>> classes_in(const json_part& model) {
  const auto found = TROUPE_TRY(model.find("id2label"));
  if (!found) return std::vector<std::string>();
  const auto members = TROUPE_TRY(found->members());
  std::vector<std::string> names(members.size());
  std::vector<bool> is_named(members.size());
  bool are_made_up = true;
  for (const auto& [key, value] : members) {
    const std::size_t id = number_in<std::size_t>(key).value_or(names.size());
    if (id >= names.size() || is_named[id]) {
      return found->wrong("names no classes from 0 to " + std::to_string(names.size() - 1));
    }
    is_named[id] = true;
    names[id] = TROUPE_TRY(value.text());
    are_made_up = are_made_up && names[id] == "LABEL_" + key;
  }
  if (are_made_up) names.clear();
  return names;
}

expected<std::vector<std::string>> chosen_inputs(const data_request& request) {
  std::vector<std::string> names = request.options.names("inputs");
  for (const std::string& each : names) {
    if (std::ranges::find(known_inputs, each) != known_inputs.end()) continue;
    return fail(error_code::unknown_name, request.specification,
                "texts give input_ids, attention_mask and token_type_ids, and no \"" + each + "\"",
                suggest_fix(each, known_inputs));
  }
  return names;
}

}  // namespace

std::optional<std::uint64_t> text_folder::tokens_max() const {
  const auto most = reader->model_max_length();
  if (!most || *most == 0 || static_cast<double>(*most) > max_length_option.maximum) return std::nullopt;
  return *most;
}

expected<text_folder> open_text_folder(const data_request& request) {
  const auto folder = request.options.text("tokenizer");
  if (!folder) {
    return fail(error_code::value_out_of_range, request.specification, "does not say which tokenizer reads the texts",
                "name the folder of the model: tokenizer=FOLDER");
  }
  text_folder made;
  made.inputs = TROUPE_TRY(chosen_inputs(request));
  made.reader = TROUPE_TRY(tokenizer::open(*folder));
  const std::filesystem::path place = std::filesystem::is_directory(*folder)
                                          ? std::filesystem::path(*folder)
                                          : std::filesystem::path(*folder).parent_path();
  const std::string settings_path = (place / "tokenizer_config.json").string();
  const std::string model_path = (place / "config.json").string();
  const nlohmann::json settings_json = TROUPE_TRY(read_configuration(settings_path));
  const nlohmann::json model_json = TROUPE_TRY(read_configuration(model_path));
  const json_part settings(settings_json, settings_path, "tokenizer_config");
  const json_part model(model_json, model_path, "config");
  made.begin_id = TROUPE_TRY(begin_in(settings, model, *made.reader));
  made.classes = TROUPE_TRY(classes_in(model));
  if (made.inputs.empty()) {
    made.inputs = {"input_ids", "attention_mask"};
    if (TROUPE_TRY(takes_types(settings, model))) made.inputs.emplace_back("token_type_ids");
  }
  for (const char* name : {"tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", "tokenizer.model", "spiece.model",
                           "sentencepiece.bpe.model", "tokenizer_config.json", "config.json"}) {
    std::error_code none;
    if (std::filesystem::exists(place / name, none)) made.files.push_back((place / name).string());
  }
  return made;
}

expected<std::vector<token_id>> ids_of(const tokenizer& reader, std::string_view text) {
  auto windows = TROUPE_TRY(reader.encode(text, {.add_special_tokens = false}));
  return std::move(windows.front().ids);
}

}  // namespace troupe
