#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

using token_id = std::uint32_t;

/// A part of a text: the bytes from `begin` up to, and without, `end`.
struct text_span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const text_span&, const text_span&) = default;
};

/// Which of two texts gives tokens away: always the longer one, or one of them alone.
enum class truncation_strategy { longest_first, only_first, only_second };
enum class text_side { left, right };

/// A text that is longer than max_length, with the special tokens, becomes several windows. Two windows that follow
/// each other share `stride` tokens, which must be fewer than a window has room for.
struct truncation {
  std::size_t max_length = 512;
  truncation_strategy strategy = truncation_strategy::longest_first;
  std::size_t stride = 0;
  /// right: the first window has the beginning of the text; left: its end.
  text_side direction = text_side::right;
};

struct padding {
  /// The number of tokens; 0 means as many as the longest encoding has. Longer encodings stay as they are.
  std::size_t length = 0;
  /// The length is raised to a multiple of this; 0 leaves it.
  std::size_t multiple = 0;
  text_side direction = text_side::right;
  /// Nothing: pad_id() of the tokenizer, else 0.
  std::optional<token_id> id = {};
  std::uint32_t type_id = 0;
};

struct encode_options {
  /// Such as [CLS] and [SEP], as the tokenizer's file says.
  bool add_special_tokens = true;
  /// Nothing: one window, as long as the text.
  std::optional<truncation> truncate = {};
  /// All windows of the call are padded to the same length.
  std::optional<padding> pad = {};
};

/// The tokens of one window; all lists have the same length.
struct encoding {
  std::vector<token_id> ids;
  /// Token type or segment: 0 for the first text, 1 for the second one, unless the tokenizer's file says otherwise.
  std::vector<std::uint32_t> type_ids;
  /// 0 where padding stands, else 1.
  std::vector<std::uint8_t> attention_mask;
  /// 1 for special tokens that were added, and for padding.
  std::vector<std::uint8_t> special_tokens_mask;
  /// Which bytes of its text a token comes from; {0, 0} for special tokens and padding.
  std::vector<text_span> offsets;
  /// The text that a token comes from: 0 or 1; -1 for special tokens and padding.
  std::vector<std::int8_t> sequence;

  [[nodiscard]] std::size_t size() const noexcept { return ids.size(); }
  friend bool operator==(const encoding&, const encoding&) = default;
};

struct tokenizer_parts;

/// Text to token ids and back, as the `tokenizers` package of Python computes them; docs/text.md has the parts of files
/// that are supported. It never changes: all threads may call it at the same time.
class tokenizer {
 public:
  /// `place` is a folder of a model or one of its files. A folder is searched for tokenizer.json; else vocab.txt; else
  /// vocab.json with merges.txt; else tokenizer.model, spiece.model or sentencepiece.bpe.model. tokenizer_config.json
  /// beside them gives the settings that the file itself lacks. Errors: E0201 nothing there; E0210 damaged; E0214
  /// beyond the limits; E0308 a part that is not supported, or parts that contradict each other.
  static expected<std::shared_ptr<const tokenizer>> open(const std::filesystem::path& place);

  explicit tokenizer(std::unique_ptr<const tokenizer_parts> parts);
  ~tokenizer();
  tokenizer(const tokenizer&) = delete;
  tokenizer& operator=(const tokenizer&) = delete;

  /// The windows of a text in the order of the `tokenizers` package: the one that it returns, then its overflowing
  /// ones. At least one, which is empty for an empty text without special tokens. Errors: E0303 the text is no UTF-8,
  /// has 1 GiB or more, or has a word for which the vocabulary has no token, not even an unknown one; E0103 options
  /// that leave no room for the text.
  [[nodiscard]] expected<std::vector<encoding>> encode(std::string_view text, const encode_options& options = {}) const;
  /// Two texts, such as a question and its context. With truncation_strategy::only_second each window has the whole
  /// first text and a part of the second one. Offsets count from the beginning of the token's own text.
  [[nodiscard]] expected<std::vector<encoding>> encode_pair(std::string_view text, std::string_view pair,
                                                            const encode_options& options = {}) const;

  /// Truncation and padding that the tokenizer's file asks for. encode() does what its own options say.
  [[nodiscard]] const encode_options& file_options() const noexcept;

  /// Brings all to one length: encodings of several calls that become one batch.
  void pad(std::span<encoding> encodings, const padding& how) const;

  [[nodiscard]] std::optional<token_id> token_to_id(std::string_view token) const;
  [[nodiscard]] std::optional<std::string> id_to_token(token_id id) const;
  /// Ids without a token are left out, as are special tokens, unless they are kept.
  [[nodiscard]] std::string decode(std::span<const token_id> ids, bool skip_special_tokens = true) const;

  /// The number of tokens, with the added ones.
  [[nodiscard]] std::size_t vocabulary_size() const noexcept;
  /// The token for padding that the files name.
  [[nodiscard]] std::optional<token_id> pad_id() const noexcept;
  /// The greatest number of tokens that the model takes, where tokenizer_config.json says so.
  [[nodiscard]] std::optional<std::size_t> model_max_length() const noexcept;

 private:
  std::unique_ptr<const tokenizer_parts> parts_;
};

/// Spans of bytes of `text` as spans of characters (code points), as the `tokenizers` package gives them in Python.
/// `text` is UTF-8, and the spans lie inside.
std::vector<text_span> in_characters(std::string_view text, std::span<const text_span> spans);

}  // namespace troupe
