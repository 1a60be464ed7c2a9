#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>
#include <utility>

#include "messages/file_fixes.hpp"
#include "messages/try.hpp"
#include "runtime/json/json_text.hpp"
#include "runtime/text/read_tokenizer.hpp"
#include "runtime/text/tokenizer_part.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t file_bytes_max = std::uintmax_t{512} << 20;
constexpr std::uint64_t settings_bytes_max = 32u << 20;
/// What transformers writes where a model has no limit is larger.
constexpr double model_length_max = 1e9;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

expected<std::optional<nlohmann::json>> read_json(const fs::path& file) {
  if (!is_file(file)) return std::nullopt;
  const std::string text = TROUPE_TRY(read_whole_file(file));
  return TROUPE_TRY(parse_json(text, settings_bytes_max, file.string(), file.filename().string()));
}

expected<std::optional<bool>> find_truth(const json_part& part, std::string_view key) {
  const auto found = TROUPE_TRY(part.find(key));
  if (!found) return std::nullopt;
  return TROUPE_TRY(found->truth());
}

/// A token is its text, or an object with a "content".
expected<std::optional<std::string>> find_token(const json_part& part, std::string_view key) {
  const auto found = TROUPE_TRY(part.find(key));
  if (!found) return std::nullopt;
  if (auto text = found->text()) return std::move(*text);
  return TROUPE_TRY(TROUPE_TRY(found->at("content")).text());
}

expected<void> read_tokenizer_config(const json_part& part, tokenizer_settings& to) {
  to.tokenizer_class = TROUPE_TRY(text_or(part, "tokenizer_class", ""));
  if (const auto length = TROUPE_TRY(part.find("model_max_length"))) {
    const double value = TROUPE_TRY(length->real());
    if (value >= 1 && value <= model_length_max) to.model_max_length = static_cast<std::size_t>(value);
  }
  to.do_lower_case = TROUPE_TRY(find_truth(part, "do_lower_case"));
  to.strip_accents = TROUPE_TRY(find_truth(part, "strip_accents"));
  to.tokenize_chinese_chars = TROUPE_TRY(find_truth(part, "tokenize_chinese_chars"));
  to.add_prefix_space = TROUPE_TRY(find_truth(part, "add_prefix_space"));
  to.add_bos_token = TROUPE_TRY(find_truth(part, "add_bos_token"));
  to.add_eos_token = TROUPE_TRY(find_truth(part, "add_eos_token"));
  to.unk_token = TROUPE_TRY(find_token(part, "unk_token"));
  to.bos_token = TROUPE_TRY(find_token(part, "bos_token"));
  to.eos_token = TROUPE_TRY(find_token(part, "eos_token"));
  to.pad_token = TROUPE_TRY(find_token(part, "pad_token"));
  to.cls_token = TROUPE_TRY(find_token(part, "cls_token"));
  to.sep_token = TROUPE_TRY(find_token(part, "sep_token"));
  to.mask_token = TROUPE_TRY(find_token(part, "mask_token"));
  return {};
}

made_parts read_place(const fs::path& place, const tokenizer_settings& settings) {
  const std::string name = place.filename().string();
  if (name == "vocab.json" || name == "merges.txt") {
    return read_vocab_and_merges(place.parent_path() / "vocab.json", place.parent_path() / "merges.txt", settings);
  }
  if (name == "vocab.txt") return read_vocab_txt(place, settings);
  if (place.extension() == ".model") return read_sentencepiece(place, settings);
  return read_tokenizer_json(place);
}

expected<fs::path> find_in(const fs::path& folder) {
  for (const char* name :
       {"tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}) {
    const bool is_complete = std::string_view(name) != "vocab.json" || is_file(folder / "merges.txt");
    if (is_file(folder / name) && is_complete) return folder / name;
  }
  return fail(
      error_code::model_missing, folder.string(),
      "the folder has no tokenizer: neither tokenizer.json, vocab.txt, vocab.json with merges.txt, nor a model of "
      "SentencePiece",
      "name the folder or file of a tokenizer");
}

}  // namespace

expected<std::string> read_whole_file(const fs::path& file) {
  std::error_code problem;
  if (!fs::exists(file, problem)) {
    return fail(error_code::model_missing, file.string(), "there is no such file",
                "name the folder or file of a tokenizer");
  }
  const std::uintmax_t size = is_file(file) ? fs::file_size(file, problem) : 0;
  if (!is_file(file) || problem) {
    return fail(error_code::model_unreadable, file.string(), "it is no file that can be read",
                "name the folder or file of a tokenizer");
  }
  if (size > file_bytes_max) {
    return fail(error_code::model_beyond_limits, file.string(), "it has " + std::to_string(size) + " bytes",
                limits_fix);
  }
  std::string text(size, '\0');
  std::ifstream in(file, std::ios::binary);
  if (!in.read(text.data(), static_cast<std::streamsize>(size))) {
    return fail(error_code::model_unreadable, file.string(), "it cannot be read", "check its permissions and the disk");
  }
  return text;
}

expected<tokenizer_settings> read_settings(const fs::path& folder) {
  tokenizer_settings made;
  if (const auto config = TROUPE_TRY(read_json(folder / "tokenizer_config.json"))) {
    const std::string where = (folder / "tokenizer_config.json").string();
    TROUPE_TRY(read_tokenizer_config(json_part(*config, where, "settings"), made));
  }
  if (const auto config = TROUPE_TRY(read_json(folder / "config.json"))) {
    const json_part part(*config, (folder / "config.json").string(), "config");
    made.model_type = TROUPE_TRY(text_or(part, "model_type", ""));
  }
  return made;
}

expected<std::shared_ptr<const tokenizer>> tokenizer::open(const fs::path& place) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(place, ignored) ? TROUPE_TRY(find_in(place)) : place;
  const tokenizer_settings settings = TROUPE_TRY(read_settings(file.parent_path()));
  std::unique_ptr<tokenizer_parts> parts = TROUPE_TRY(read_place(file, settings));
  parts->model_max_length = settings.model_max_length;
  if (settings.pad_token) {
    const auto added = parts->added.ids().find(*settings.pad_token);
    const token_table::row row = parts->model->table().find(*settings.pad_token);
    if (added != parts->added.ids().end()) {
      parts->pad_id = added->second;
    } else if (row != token_table::none) {
      parts->pad_id = parts->model->table().id(row);
    }
  }
  std::shared_ptr<const tokenizer> made = make_tokenizer(std::move(parts));
  return made;
}

}  // namespace troupe
