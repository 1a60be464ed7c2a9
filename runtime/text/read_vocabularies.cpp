#include <algorithm>
#include <array>
#include <utility>

#include "messages/try.hpp"
#include "runtime/text/read_tokenizer.hpp"
#include "runtime/text/tokenizer_part.hpp"
#include "runtime/text/utf8.hpp"
#include "runtime/text/word_models.hpp"

namespace troupe {
namespace {

/// Qwen2's words.
constexpr auto qwen2_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Calls take(line), which gives an expected<void>, for each line, without its end.
template <class Take>
expected<void> for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    TROUPE_TRY(take(line));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

expected<void> check_utf8(std::string_view text, const std::string& where) {
  const std::size_t wrong = utf8::invalid_utf8_at(text);
  if (wrong == std::string_view::npos) return {};
  return unusable(where, "the byte " + std::to_string(wrong) + " belongs to no character of UTF-8");
}

expected<token_id> id_of(const tokenizer_parts& parts, const std::string& token) {
  const token_table::row row = parts.model->table().find(token);
  if (row != token_table::none) return parts.model->table().id(row);
  return unusable(parts.where, "the vocabulary has no token \"" + token + "\", which its kind of tokenizer needs");
}

/// Special tokens that stand in the vocabulary are found in texts; a mask may take the spaces before it.
expected<void> add_specials(tokenizer_parts& to, std::vector<std::string> contents,
                            const std::string& stripping_mask = {}) {
  std::vector<added_token> tokens;
  for (std::string& content : contents) {
    if (to.model->table().find(content) == token_table::none) continue;
    tokens.push_back({.content = std::move(content), .is_normalized = false, .is_special = true});
  }
  if (to.model->table().find(stripping_mask) != token_table::none) {
    tokens.push_back({.content = stripping_mask, .strips_left = true, .is_normalized = false, .is_special = true});
  }
  return to.added.add(tokens, to.model->table(), to.normalize.get());
}

expected<merge_list> read_merges(const std::filesystem::path& file) {
  const std::string text = TROUPE_TRY(read_whole_file(file));
  const std::string where = file.string();
  TROUPE_TRY(check_utf8(text, where));
  merge_list list;
  std::size_t number = 0;
  TROUPE_TRY(for_each_line(text, [&](std::string_view line) -> expected<void> {
    ++number;
    if (line.starts_with("#version") || line.empty()) return {};
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      return unusable(where, "line " + std::to_string(number) + " is no pair of tokens");
    }
    if (list.size() >= merges_max) return unusable(where, "it has more than " + std::to_string(merges_max) + " merges");
    list.add(line.substr(0, space), line.substr(space + 1));
    return {};
  }));
  return list;
}

/// What a file of merges and a vocabulary are for: GPT-2's bytes, unless the settings name another kind.
enum class byte_kind { gpt2, roberta, qwen2 };

expected<byte_kind> kind_of(const tokenizer_settings& settings, const std::string& where) {
  std::string name = settings.tokenizer_class;
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  const std::array gpt2 = {"", "GPT2Tokenizer"};
  const std::array roberta = {"RobertaTokenizer", "LongformerTokenizer", "BartTokenizer"};
  if (name == "Qwen2Tokenizer") return byte_kind::qwen2;
  if (std::ranges::find(roberta, name) != roberta.end()) return byte_kind::roberta;
  if (std::ranges::find(gpt2, name) == gpt2.end()) {
    return unusable(where,
                    "the tokenizer_class " + settings.tokenizer_class + " is not supported without a tokenizer.json");
  }
  const auto& type = settings.model_type;
  if (name.empty() && (type == "roberta" || type == "longformer" || type == "bart")) return byte_kind::roberta;
  if (name.empty() && type.starts_with("qwen2")) return byte_kind::qwen2;
  return byte_kind::gpt2;
}

}  // namespace

made_parts read_vocab_txt(const std::filesystem::path& file, const tokenizer_settings& settings) {
  auto parts = std::make_unique<tokenizer_parts>();
  parts->where = file.string();
  const std::string text = TROUPE_TRY(read_whole_file(file));
  TROUPE_TRY(check_utf8(text, parts->where));
  token_table table;
  token_id line_number = 0;
  TROUPE_TRY(for_each_line(text, [&](std::string_view line) -> expected<void> {
    if (line_number >= tokens_max)
      return unusable(file.string(), "it has more than " + std::to_string(tokens_max) + " tokens");
    table.add(line, line_number++);
    return {};
  }));
  word_piece_options model;
  model.unknown = settings.unk_token.value_or("[UNK]");
  model.prefix = "##";
  parts->model = make_word_piece(std::move(table), model);
  bert_options bert;
  bert.lowers = settings.do_lower_case.value_or(true);
  bert.strips_accents = settings.strip_accents.value_or(bert.lowers);
  bert.handles_chinese = settings.tokenize_chinese_chars.value_or(true);
  parts->normalize = make_bert_normalizer(bert);
  parts->cut = make_bert_pre_tokenizer();
  parts->decode = make_word_piece_decoder("##", true);
  const std::string open = settings.cls_token.value_or("[CLS]");
  const std::string close = settings.sep_token.value_or("[SEP]");
  const std::string pad = settings.pad_token.value_or("[PAD]");
  const token_id open_id = TROUPE_TRY(id_of(*parts, open));
  parts->post = bert_processing(open_id, TROUPE_TRY(id_of(*parts, close)));
  if (const auto id = id_of(*parts, pad)) parts->pad_id = *id;
  TROUPE_TRY(add_specials(*parts, {model.unknown, close, pad, open, settings.mask_token.value_or("[MASK]")}));
  return parts;
}

made_parts read_vocab_and_merges(const std::filesystem::path& vocabulary, const std::filesystem::path& merges,
                                 const tokenizer_settings& settings) {
  auto parts = std::make_unique<tokenizer_parts>();
  parts->where = vocabulary.string();
  token_table table;
  {
    const std::string text = TROUPE_TRY(read_whole_file(vocabulary));
    table = TROUPE_TRY(parse_vocabulary(text, parts->where));
  }
  const byte_kind kind = TROUPE_TRY(kind_of(settings, parts->where));
  const merge_list list = TROUPE_TRY(read_merges(merges));
  merge_table pairs = TROUPE_TRY(resolve_merges(list, table, 0, merges.string()));
  parts->model = std::make_unique<bpe_model>(std::move(table), std::move(pairs), bpe_options{});
  parts->decode = make_byte_level_decoder();
  const bool adds_space = settings.add_prefix_space.value_or(false);
  if (kind == byte_kind::qwen2) {
    parts->normalize = make_nfc_normalizer();
    parts->cut = make_regex_byte_pre_tokenizer(qwen2_expression);
    const std::string end = settings.eos_token.value_or("<|endoftext|>");
    TROUPE_TRY(add_specials(*parts, {end, settings.pad_token.value_or(end), "<|im_start|>", "<|im_end|>"}));
    return parts;
  }
  parts->cut = make_byte_level_pre_tokenizer(adds_space, true);
  if (kind == byte_kind::gpt2) {
    const std::string end = settings.eos_token.value_or("<|endoftext|>");
    TROUPE_TRY(add_specials(*parts, {end, settings.bos_token.value_or(end), settings.unk_token.value_or(end)}));
    return parts;
  }
  const std::string open = settings.cls_token.value_or("<s>");
  const std::string close = settings.sep_token.value_or("</s>");
  const token_id open_id = TROUPE_TRY(id_of(*parts, open));
  parts->post = roberta_processing(open_id, TROUPE_TRY(id_of(*parts, close)), true, adds_space);
  const std::string pad = settings.pad_token.value_or("<pad>");
  if (const auto id = id_of(*parts, pad)) parts->pad_id = *id;
  const std::string unknown = settings.unk_token.value_or("<unk>");
  TROUPE_TRY(add_specials(*parts, {open, close, unknown, pad}, settings.mask_token.value_or("<mask>")));
  return parts;
}

}  // namespace troupe
