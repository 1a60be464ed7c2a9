#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "runtime/text/byte_alphabet.hpp"
#include "runtime/text/tokenizer_parts.hpp"
#include "runtime/text/unicode_classes.hpp"
#include "runtime/text/window.hpp"

namespace troupe {
namespace {

constexpr std::size_t text_bytes_max = std::size_t{1} << 30;

bool is_space(char32_t c) {
  return c == space_character || unicode::character_table::get().has(c, unicode::white_space);
}

tokenizer_parts::spaces spaces_around(std::string_view text) {
  tokenizer_parts::spaces found;
  for (std::size_t at = 0; at < text.size() && found.before < 0xFFFF;) {
    if (!is_space(utf8::next(text, at))) break;
    ++found.before;
  }
  for (std::size_t end = text.size(); end > 0 && found.behind < 0xFFFF;) {
    end = utf8::before(text, end);
    std::size_t at = end;
    if (!is_space(utf8::next(text, at))) break;
    ++found.behind;
  }
  return found;
}

tl::unexpected<error> bad_text(const std::string& cause, const std::string& fix) {
  return fail(error_code::data_bad_format, "text", cause, fix);
}

expected<void> check(std::string_view text) {
  if (text.size() >= text_bytes_max) {
    return bad_text("it has " + std::to_string(text.size()) + " bytes, and a tokenizer takes less than 1 GiB",
                    "cut the text into parts");
  }
  const std::size_t wrong = utf8::invalid_utf8_at(text);
  if (wrong == std::string_view::npos) return {};
  return bad_text("the byte " + std::to_string(wrong) + " belongs to no character of UTF-8",
                  "convert the text to UTF-8, for example with iconv");
}

expected<void> normalize(const tokenizer_parts& parts, document& text) {
  if (parts.normalize == nullptr) return {};
  std::string same(text.text());
  const bool has_tokens =
      std::ranges::any_of(text.pieces(), [](const document::piece& piece) { return piece.is_token; });
  if (!has_tokens && parts.normalize->apply_in_place(same)) {
    text.replace_in_place(std::move(same));
    return {};
  }
  return text.rewrite([&](aligned_text& part) { return parts.normalize->apply(part); });
}

expected<cut_text> tokens_of(const tokenizer_parts& parts, std::string_view original) {
  TROUPE_TRY(check(original));
  document text(original);
  parts.added.cut_raw(text);
  TROUPE_TRY(normalize(parts, text));
  parts.added.cut_normalized(text);
  if (parts.cut != nullptr) TROUPE_TRY(parts.cut->apply(text));
  const bool is_bytes = parts.cut != nullptr && parts.cut->gives_bytes();
  cut_text found{original, {}};
  found.tokens.reserve(text.pieces().size() + text.pieces().size() / 2);
  std::vector<model_token> word_tokens;
  const bool trims = !parts.post.trims.empty();
  for (const document::piece& piece : text.pieces()) {
    if (piece.is_token) {
      const text_span span = text.original_span(piece, 0, piece.end - piece.begin);
      // For an added token the package looks at the text that it was found in.
      const auto around = trims ? spaces_around(text.text_of(piece)) : tokenizer_parts::spaces{};
      found.tokens.push_back({piece.token, span, around.before, around.behind});
      continue;
    }
    word_tokens.clear();
    const std::string_view word = text.text_of(piece);
    const bool has_tokens =
        is_bytes ? parts.model->tokenize_bytes(word, word_tokens) : parts.model->tokenize(word, word_tokens);
    if (!has_tokens) {
      return bad_text("\"" + std::string(word.substr(0, 100)) + "\" has no token in the vocabulary of " + parts.where +
                          ", which has none for unknown words either",
                      "use a tokenizer with a token for unknown words");
    }
    for (const model_token& token : word_tokens) {
      const auto around = trims ? parts.spaces_of_rows[token.row] : tokenizer_parts::spaces{};
      found.tokens.push_back({parts.model->table().id(token.row), text.original_span(piece, token.begin, token.end),
                              around.before, around.behind});
    }
  }
  return found;
}

}  // namespace

std::shared_ptr<const tokenizer> make_tokenizer(std::unique_ptr<tokenizer_parts> parts) {
  if (!parts->post.trims.empty()) {
    const token_table& table = parts->model->table();
    parts->spaces_of_rows.reserve(table.size());
    for (token_table::row row = 0; row < table.size(); ++row) {
      parts->spaces_of_rows.push_back(spaces_around(table.text(row)));
    }
  }
  return std::make_shared<const tokenizer>(std::move(parts));
}

tokenizer::tokenizer(std::unique_ptr<const tokenizer_parts> parts) : parts_(std::move(parts)) {}
tokenizer::~tokenizer() = default;

expected<std::vector<encoding>> tokenizer::encode(std::string_view text, const encode_options& options) const {
  std::vector<cut_text> texts;
  texts.push_back(TROUPE_TRY(tokens_of(*parts_, text)));
  return make_windows(std::move(texts), parts_->post, options, pad_id().value_or(0));
}

expected<std::vector<encoding>> tokenizer::encode_pair(std::string_view text, std::string_view pair,
                                                       const encode_options& options) const {
  std::vector<cut_text> texts;
  texts.push_back(TROUPE_TRY(tokens_of(*parts_, text)));
  texts.push_back(TROUPE_TRY(tokens_of(*parts_, pair)));
  return make_windows(std::move(texts), parts_->post, options, pad_id().value_or(0));
}

const encode_options& tokenizer::file_options() const noexcept {
  return parts_->file_options;
}
void tokenizer::pad(std::span<encoding> encodings, const padding& how) const {
  pad_all(encodings, how, pad_id().value_or(0));
}
std::optional<token_id> tokenizer::pad_id() const noexcept {
  return parts_->pad_id;
}
std::optional<std::size_t> tokenizer::model_max_length() const noexcept {
  return parts_->model_max_length;
}

std::optional<token_id> tokenizer::token_to_id(std::string_view token) const {
  const auto& added = parts_->added.ids();
  if (const auto found = added.find(std::string(token)); found != added.end()) return found->second;
  const token_table::row row = parts_->model->table().find(token);
  if (row == token_table::none) return std::nullopt;
  return parts_->model->table().id(row);
}

std::optional<std::string> tokenizer::id_to_token(token_id id) const {
  const auto& added = parts_->added.contents();
  if (const auto found = added.find(id); found != added.end()) return found->second;
  const token_table::row row = parts_->model->table().row_of(id);
  if (row == token_table::none) return std::nullopt;
  return std::string(parts_->model->table().text(row));
}

std::string tokenizer::decode(std::span<const token_id> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const token_id id : ids) {
    auto token = id_to_token(id);
    if (!token || (skip_special_tokens && parts_->added.is_special(*token))) continue;
    tokens.push_back(std::move(*token));
  }
  const std::string between = parts_->decode == nullptr ? " " : "";
  if (parts_->decode != nullptr && !tokens.empty()) parts_->decode->apply(tokens);
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) text += (i > 0 ? between : "") + tokens[i];
  return text;
}

std::size_t tokenizer::vocabulary_size() const noexcept {
  const token_table& table = parts_->model->table();
  std::size_t more = 0;
  for (const auto& [content, id] : parts_->added.ids()) more += table.find(content) == token_table::none ? 1 : 0;
  return table.size() + more;
}

std::vector<text_span> in_characters(std::string_view text, std::span<const text_span> spans) {
  std::vector<std::uint32_t> before(text.size() + 1);
  std::uint32_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!utf8::is_continuation(text[at])) ++count;
    before[at] = count - 1;
  }
  before[text.size()] = count;
  std::vector<text_span> made;
  made.reserve(spans.size());
  for (const text_span& span : spans) {
    const bool is_inside = span.begin <= text.size() && span.end <= text.size();
    made.push_back(is_inside ? text_span{before[span.begin], before[span.end]} : span);
  }
  return made;
}

}  // namespace troupe
