#include <utility>

#include "messages/file_fixes.hpp"
#include "messages/try.hpp"
#include "runtime/text/read_tokenizer.hpp"
#include "runtime/text/tokenizer_part.hpp"
#include "runtime/text/unigram_model.hpp"
#include "runtime/text/word_models.hpp"

namespace troupe {
namespace {

constexpr std::size_t lengths_max = 1u << 24;
constexpr std::size_t ids_max = 0xFFFFFFFE;

using made_model = expected<std::unique_ptr<const token_model>>;

made_model read_bpe(const json_part& part, tokenizer_file& file) {
  TROUPE_TRY(check_members(part, "BPE",
                           {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                            "byte_fallback", "ignore_merges"}));
  if (const auto dropout = TROUPE_TRY(part.find("dropout")); dropout && TROUPE_TRY(dropout->real()) != 0) {
    return unusable(part.where(), "the model has a dropout, so that its tokens are random");
  }
  bpe_options options;
  if (const auto unknown = TROUPE_TRY(part.find("unk_token"))) options.unknown = TROUPE_TRY(unknown->text());
  options.prefix = TROUPE_TRY(text_or(part, "continuing_subword_prefix", ""));
  options.suffix = TROUPE_TRY(text_or(part, "end_of_word_suffix", ""));
  options.fuses_unknown = TROUPE_TRY(truth_or(part, "fuse_unk", false));
  options.has_byte_fallback = TROUPE_TRY(truth_or(part, "byte_fallback", false));
  options.ignores_merges = TROUPE_TRY(truth_or(part, "ignore_merges", false));
  if (!file.has_merges || file.has_scores) return part.wrong("has no vocabulary with merges");
  merge_table merges = TROUPE_TRY(resolve_merges(file.merges, file.vocabulary, options.prefix.size(), part.where()));
  return std::make_unique<const bpe_model>(std::move(file.vocabulary), std::move(merges), options);
}

made_model read_unigram(const json_part& part, tokenizer_file& file) {
  TROUPE_TRY(check_members(part, "Unigram", {"unk_id", "byte_fallback"}));
  if (!file.has_scores) return part.wrong("has no vocabulary with scores");
  std::optional<token_table::row> unknown;
  if (const auto id = TROUPE_TRY(part.find("unk_id"))) {
    const auto wanted = static_cast<token_id>(TROUPE_TRY(count_in(*id, ids_max)));
    file.vocabulary.sort_ids();
    unknown = file.vocabulary.row_of(wanted);
    if (*unknown == token_table::none) return unusable(part.where(), "the vocabulary has no token of the id unk_id");
  }
  const bool has_fallback = TROUPE_TRY(truth_or(part, "byte_fallback", false));
  return make_unigram(std::move(file.vocabulary), std::move(file.scores), unknown, has_fallback);
}

made_model read_word_piece(const json_part& part, tokenizer_file& file) {
  TROUPE_TRY(check_members(part, "WordPiece", {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word"}));
  word_piece_options options;
  options.unknown = TROUPE_TRY(TROUPE_TRY(part.at("unk_token")).text());
  options.prefix = TROUPE_TRY(text_or(part, "continuing_subword_prefix", "##"));
  if (const auto most = TROUPE_TRY(part.find("max_input_chars_per_word"))) {
    options.characters_max = TROUPE_TRY(count_in(*most, lengths_max));
  }
  return make_word_piece(std::move(file.vocabulary), options);
}

std::string type_of_model(const json_part& part, const tokenizer_file& file) {
  if (const auto type = type_of(part)) return *type;
  if (file.has_scores) return "Unigram";
  if (file.has_merges) return "BPE";
  const auto prefix = part.find("continuing_subword_prefix");
  return prefix && *prefix ? "WordPiece" : "WordLevel";
}

made_model read_model(const json_part& part, tokenizer_file& file) {
  const std::string type = type_of_model(part, file);
  if (!file.has_vocabulary) return part.wrong("has no vocabulary");
  if (type == "BPE") return read_bpe(part, file);
  if (type == "Unigram") return read_unigram(part, file);
  if (file.has_scores) return part.wrong("has a vocabulary with scores, which only Unigram has");
  if (type == "WordPiece") return read_word_piece(part, file);
  if (type != "WordLevel") return unusable(part.where(), "a model of type \"" + type + "\" is not supported");
  TROUPE_TRY(check_members(part, type, {"unk_token"}));
  return make_word_level(std::move(file.vocabulary), TROUPE_TRY(TROUPE_TRY(part.at("unk_token")).text()));
}

expected<std::vector<added_token>> read_added(const json_part& part, std::vector<token_id>& ids) {
  std::vector<added_token> all;
  for (const json_part& item : TROUPE_TRY(part.items())) {
    TROUPE_TRY(check_members(item, "an added token",
                             {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    added_token token;
    token.content = TROUPE_TRY(TROUPE_TRY(item.at("content")).text());
    token.is_special = TROUPE_TRY(truth_or(item, "special", false));
    token.is_single_word = TROUPE_TRY(truth_or(item, "single_word", false));
    token.strips_left = TROUPE_TRY(truth_or(item, "lstrip", false));
    token.strips_right = TROUPE_TRY(truth_or(item, "rstrip", false));
    token.is_normalized = TROUPE_TRY(truth_or(item, "normalized", !token.is_special));
    ids.push_back(static_cast<token_id>(TROUPE_TRY(count_in(TROUPE_TRY(item.at("id")), ids_max))));
    all.push_back(std::move(token));
  }
  return all;
}

expected<void> add_tokens(const json_part& part, tokenizer_parts& to) {
  std::vector<token_id> ids;
  const std::vector<added_token> tokens = TROUPE_TRY(read_added(part, ids));
  TROUPE_TRY(to.added.add(tokens, to.model->table(), to.normalize.get()));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto found = to.added.ids().find(tokens[i].content);
    if (found != to.added.ids().end() && found->second != ids[i]) {
      return unusable(part.where(), "the added token \"" + tokens[i].content.substr(0, 100) + "\" has the id " +
                                        std::to_string(ids[i]) + ", but the vocabulary leads to " +
                                        std::to_string(found->second));
    }
  }
  return {};
}

expected<text_side> read_direction(const json_part& part) {
  const std::string name = TROUPE_TRY(text_or(part, "direction", "Right"));
  if (name == "Right") return text_side::right;
  if (name == "Left") return text_side::left;
  return unusable(part.where(), "the direction \"" + name + "\" is not known");
}

expected<truncation> read_truncation(const json_part& part) {
  TROUPE_TRY(check_members(part, "truncation", {"direction", "max_length", "strategy", "stride"}));
  truncation made;
  made.direction = TROUPE_TRY(read_direction(part));
  made.max_length = TROUPE_TRY(count_in(TROUPE_TRY(part.at("max_length")), lengths_max));
  made.stride = TROUPE_TRY(count_in(TROUPE_TRY(part.at("stride")), lengths_max));
  const std::string strategy = TROUPE_TRY(text_or(part, "strategy", "LongestFirst"));
  if (strategy == "OnlyFirst") {
    made.strategy = truncation_strategy::only_first;
  } else if (strategy == "OnlySecond") {
    made.strategy = truncation_strategy::only_second;
  } else if (strategy != "LongestFirst") {
    return unusable(part.where(), "the truncation \"" + strategy + "\" is not known");
  }
  return made;
}

expected<padding> read_padding(const json_part& part) {
  TROUPE_TRY(check_members(part, "padding",
                           {"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"}));
  padding made;
  made.direction = TROUPE_TRY(read_direction(part));
  made.id = static_cast<token_id>(TROUPE_TRY(count_in(TROUPE_TRY(part.at("pad_id")), ids_max)));
  if (const auto type = TROUPE_TRY(part.find("pad_type_id"))) {
    made.type_id = static_cast<std::uint32_t>(TROUPE_TRY(count_in(*type, ids_max)));
  }
  if (const auto multiple = TROUPE_TRY(part.find("pad_to_multiple_of"))) {
    made.multiple = TROUPE_TRY(count_in(*multiple, lengths_max));
  }
  const json_part strategy = TROUPE_TRY(part.at("strategy"));
  if (const auto name = strategy.text()) {
    if (*name == "BatchLongest") return made;
    return unusable(part.where(), "the padding \"" + *name + "\" is not known");
  }
  made.length = TROUPE_TRY(count_in(TROUPE_TRY(strategy.at("Fixed")), lengths_max));
  return made;
}

}  // namespace

expected<merge_table> resolve_merges(const merge_list& list, const token_table& table, std::size_t prefix_bytes,
                                     const std::string& where) {
  merge_table made(list.size());
  std::uint32_t rank = 0;
  std::string both;
  TROUPE_TRY(list.for_each([&](std::string_view left, std::string_view right) -> expected<void> {
    const auto row_of = [&](std::string_view text) -> expected<token_table::row> {
      const token_table::row found = table.find(text);
      if (found != token_table::none) return found;
      return unusable(where, "the merge " + std::to_string(rank) + " has the token \"" +
                                 std::string(text.substr(0, 100)) + "\", which the vocabulary does not have");
    };
    const token_table::row left_row = TROUPE_TRY(row_of(left));
    const token_table::row right_row = TROUPE_TRY(row_of(right));
    both.assign(left).append(right.substr(std::min(prefix_bytes, right.size())));
    const token_table::row result = TROUPE_TRY(row_of(both));
    made.add(left_row, right_row, {rank++, result});
    return {};
  }));
  return made;
}

made_parts read_tokenizer_json(const std::filesystem::path& file) {
  const std::string where = file.string();
  auto parts = std::make_unique<tokenizer_parts>();
  parts->where = where;
  tokenizer_file content;
  {
    const std::string text = TROUPE_TRY(read_whole_file(file));
    content = TROUPE_TRY(parse_tokenizer_file(text, where));
  }
  const json_part whole(content.rest, where, "tokenizer");
  for (const auto& [name, value] : TROUPE_TRY(whole.members())) {
    static const std::vector<std::string_view> known = {"version",        "truncation", "padding",
                                                        "added_tokens",   "normalizer", "pre_tokenizer",
                                                        "post_processor", "decoder",    "model"};
    if (std::ranges::find(known, name) == known.end()) {
      return unusable(where, "the file has the member \"" + name + "\", which is not known");
    }
  }
  const std::string version = TROUPE_TRY(text_or(whole, "version", "1.0"));
  if (version != "1.0") return unusable(where, "the file has the version \"" + version + "\"; only 1.0 is supported");
  parts->model = TROUPE_TRY(read_model(TROUPE_TRY(whole.at("model")), content));
  if (const auto part = TROUPE_TRY(whole.find("normalizer"))) parts->normalize = TROUPE_TRY(read_normalizer(*part));
  if (const auto part = TROUPE_TRY(whole.find("pre_tokenizer"))) parts->cut = TROUPE_TRY(read_pre_tokenizer(*part));
  if (const auto part = TROUPE_TRY(whole.find("post_processor"))) parts->post = TROUPE_TRY(read_post_processor(*part));
  if (const auto part = TROUPE_TRY(whole.find("decoder"))) parts->decode = TROUPE_TRY(read_decoder(*part));
  if (const auto part = TROUPE_TRY(whole.find("added_tokens"))) TROUPE_TRY(add_tokens(*part, *parts));
  if (const auto part = TROUPE_TRY(whole.find("truncation"))) {
    parts->file_options.truncate = TROUPE_TRY(read_truncation(*part));
  }
  if (const auto part = TROUPE_TRY(whole.find("padding"))) {
    parts->file_options.pad = TROUPE_TRY(read_padding(*part));
    parts->pad_id = parts->file_options.pad->id;
  }
  return parts;
}

}  // namespace troupe
