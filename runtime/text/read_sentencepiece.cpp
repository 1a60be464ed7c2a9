#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "messages/try.hpp"
#include "runtime/text/charsmap.hpp"
#include "runtime/text/read_tokenizer.hpp"
#include "runtime/text/sentencepiece_file.hpp"
#include "runtime/text/tokenizer_part.hpp"
#include "runtime/text/unigram_model.hpp"

namespace troupe {
namespace {

using piece_type = sentencepiece_file::piece_type;

/// All ways to cut a token are looked at.
constexpr std::size_t piece_bytes_max = 512;
constexpr std::string_view space_mark = "\xE2\x96\x81";

struct space_rules {
  bool adds_prefix = true;
  bool removes_extra = true;
};

/// SentencePiece's own normalization: replacements, then spaces as U+2581.
class sentencepiece_normalizer : public normalizer {
 public:
  sentencepiece_normalizer(charsmap map, space_rules rules) : map_(std::move(map)), rules_(rules) {}

  expected<void> apply(aligned_text& text) const override {
    std::string made;
    std::vector<std::uint32_t> begins;
    const std::string& old = text.text;
    std::size_t at = 0;
    while (rules_.removes_extra && at < old.size()) {
      const auto [length, other] = next(old, at);
      if (other != " ") break;
      at += length;
    }
    const auto put = [&](std::string_view part) {
      made += part;
      begins.insert(begins.end(), part.size(), place(text, at));
    };
    if (rules_.adds_prefix && at < old.size()) put(space_mark);
    bool is_behind_space = rules_.removes_extra;
    while (at < old.size()) {
      auto [length, other] = next(old, at);
      while (is_behind_space && other.starts_with(' ')) other.remove_prefix(1);
      for (const char& c : other) put(c == ' ' ? space_mark : std::string_view(&c, 1));
      if (!other.empty()) is_behind_space = rules_.removes_extra && other.ends_with(' ');
      at += length;
    }
    std::uint32_t end = place(text, at);
    while (rules_.removes_extra && made.ends_with(space_mark)) {
      made.resize(made.size() - space_mark.size());
      end = begins[made.size()];
      begins.resize(made.size());
    }
    finish(text, std::move(made), begins, end);
    return {};
  }
  bool apply_in_place(std::string& text) const override { return text.empty(); }

 private:
  static std::uint32_t place(const aligned_text& text, std::size_t at) {
    if (at < text.spans.size()) return text.spans[at].begin;
    return text.spans.empty() ? text.origin : text.spans.back().end;
  }
  /// Each character reaches to the next one, so that no part of the text is between two.
  static void finish(aligned_text& text, std::string made, const std::vector<std::uint32_t>& begins,
                     std::uint32_t end) {
    text.spans.assign(made.size(), {});
    for (std::size_t at = made.size(); at > 0;) {
      const std::size_t first = utf8::before(made, at);
      for (std::size_t i = first; i < at; ++i) text.spans[i] = {begins[first], end};
      end = begins[first];
      at = first;
    }
    text.text = std::move(made);
  }
  [[nodiscard]] std::pair<std::size_t, std::string_view> next(std::string_view text, std::size_t at) const {
    const charsmap::replacement found = map_.longest(text.substr(at));
    if (found.length > 0) return {found.length, found.text};
    const std::size_t length = utf8::length_from(text[at]);
    return {length, text.substr(at, length)};
  }

  charsmap map_;
  space_rules rules_;
};

expected<void> check(const sentencepiece_file& file, const std::string& where) {
  if (file.model_type != 1 && file.model_type != 2) {
    return unusable(where, "models of SentencePiece that are neither unigram nor bpe are not supported");
  }
  if (file.is_suffix || !file.escapes_spaces) {
    return unusable(where, "its spaces are not written as U+2581 before words, which is not supported");
  }
  for (const auto& piece : file.pieces) {
    if (piece.type == piece_type::user_defined || piece.type == piece_type::unused) {
      return unusable(where, "the token \"" + std::string(piece.text.substr(0, 100)) +
                                 "\" is user-defined or unused, which is not supported; make a tokenizer.json of it");
    }
  }
  return {};
}

/// Two tokens merge into each third one that is both behind each other. The better its score, the earlier.
merge_table merges_of(const sentencepiece_file& file, const token_table& table) {
  std::vector<float> scores;
  for (const auto& piece : file.pieces) {
    if (piece.type == piece_type::normal) scores.push_back(piece.score);
  }
  std::ranges::sort(scores, std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<std::pair<std::pair<token_table::row, token_table::row>, merge_table::merge>> found;
  for (token_table::row row = 0; row < table.size(); ++row) {
    const auto& piece = file.pieces[table.id(row)];
    if (piece.type != piece_type::normal) continue;
    const auto rank = std::ranges::lower_bound(scores, piece.score, std::greater<>()) - scores.begin();
    for (std::size_t at = utf8::length_from(piece.text[0]); at < piece.text.size();
         at += utf8::length_from(piece.text[at])) {
      const token_table::row left = table.find(piece.text.substr(0, at));
      const token_table::row right = left == token_table::none ? left : table.find(piece.text.substr(at));
      if (right == token_table::none) continue;
      found.push_back({{left, right}, {static_cast<std::uint32_t>(rank), row}});
    }
  }
  merge_table made(found.size());
  for (const auto& [pair, merge] : found) made.add(pair.first, pair.second, merge);
  return made;
}

expected<void> add_ends(const sentencepiece_file& file, const tokenizer_settings& settings, tokenizer_parts& to) {
  std::string name = settings.tokenizer_class;
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (!name.empty() && name != "LlamaTokenizer" && name != "T5Tokenizer") {
    return unusable(to.where,
                    "the tokenizer_class " + settings.tokenizer_class + " is not supported without a tokenizer.json");
  }
  const auto is_there = [&](std::int64_t id) { return id >= 0 && static_cast<std::uint64_t>(id) < file.pieces.size(); };
  std::vector<template_piece> before;
  std::vector<template_piece> behind;
  if (is_there(file.bos_id) && settings.add_bos_token.value_or(name == "LlamaTokenizer")) {
    before.push_back({-1, 0, {static_cast<token_id>(file.bos_id)}});
  }
  if (is_there(file.eos_id) && settings.add_eos_token.value_or(name == "T5Tokenizer")) {
    behind.push_back({-1, 0, {static_cast<token_id>(file.eos_id)}});
  }
  to.post.has_template = true;
  to.post.single.clear();
  to.post.pair.clear();
  for (const int text : {0, 1}) {
    std::vector<template_piece> one = before;
    one.push_back({text, 0, {}});
    one.insert(one.end(), behind.begin(), behind.end());
    to.post.pair.insert(to.post.pair.end(), one.begin(), one.end());
    if (text == 0) to.post.single = one;
  }
  if (is_there(file.pad_id)) to.pad_id = static_cast<token_id>(file.pad_id);
  return {};
}

}  // namespace

made_parts read_sentencepiece(const std::filesystem::path& path, const tokenizer_settings& settings) {
  auto parts = std::make_unique<tokenizer_parts>();
  parts->where = path.string();
  const std::string bytes = TROUPE_TRY(read_whole_file(path));
  sentencepiece_file file = TROUPE_TRY(parse_sentencepiece(bytes, parts->where));
  TROUPE_TRY(check(file, parts->where));
  token_table table;
  std::vector<double> scores;
  std::optional<token_table::row> unknown;
  bpe_options bpe{.fuses_unknown = true, .has_byte_fallback = file.has_byte_fallback};
  for (token_id id = 0; id < file.pieces.size(); ++id) {
    const auto& piece = file.pieces[id];
    if (table.find(piece.text) != token_table::none || piece.text.empty() || piece.text.size() > piece_bytes_max) {
      return unusable(parts->where, "the token " + std::to_string(id) +
                                        " is empty, longer than 512 bytes or there for a second time");
    }
    // Texts never have a control token, and its score counts for nothing.
    const bool is_normal = piece.type == piece_type::normal;
    table.add(piece.text, id);
    scores.push_back(is_normal ? static_cast<double>(piece.score) : std::numeric_limits<double>::quiet_NaN());
    if (piece.type != piece_type::unknown) continue;
    unknown = static_cast<token_table::row>(id);
    bpe.unknown = std::string(piece.text);
  }
  if (!unknown) return unusable(parts->where, "it has no token for unknown characters");
  parts->normalize = std::make_unique<sentencepiece_normalizer>(
      TROUPE_TRY(charsmap::from_bytes(std::move(file.charsmap), parts->where)),
      space_rules{file.adds_prefix, file.removes_spaces});
  TROUPE_TRY(add_ends(file, settings, *parts));
  if (file.model_type == 1) {
    parts->model = make_unigram(std::move(table), std::move(scores), unknown, file.has_byte_fallback, true);
  } else {
    merge_table merges = merges_of(file, table);
    parts->model = std::make_unique<bpe_model>(std::move(table), std::move(merges), bpe);
  }
  parts->decode = make_sentencepiece_decoder(file.adds_prefix);
  return parts;
}

}  // namespace troupe
