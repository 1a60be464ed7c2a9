#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "runtime/text/bpe_model.hpp"
#include "runtime/text/tokenizer_file.hpp"
#include "runtime/text/tokenizer_parts.hpp"

namespace troupe {

/// What tokenizer_config.json and config.json say beside a vocabulary; all may be missing.
struct tokenizer_settings {
  std::string tokenizer_class;
  std::string model_type;
  std::optional<std::size_t> model_max_length;
  std::optional<bool> do_lower_case;
  std::optional<bool> strip_accents;
  std::optional<bool> tokenize_chinese_chars;
  std::optional<bool> add_prefix_space;
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<std::string> unk_token, bos_token, eos_token, pad_token, cls_token, sep_token, mask_token;
};
expected<tokenizer_settings> read_settings(const std::filesystem::path& folder);

/// The whole of a small file. E0201, E0210; E0214 over 512 MiB.
expected<std::string> read_whole_file(const std::filesystem::path& file);

using made_parts = expected<std::unique_ptr<tokenizer_parts>>;
made_parts read_tokenizer_json(const std::filesystem::path& file);
made_parts read_vocab_txt(const std::filesystem::path& file, const tokenizer_settings& settings);
made_parts read_vocab_and_merges(const std::filesystem::path& vocabulary, const std::filesystem::path& merges,
                                 const tokenizer_settings& settings);

/// A model of SentencePiece.
made_parts read_sentencepiece(const std::filesystem::path& file, const tokenizer_settings& settings);

/// The merges of a list among the tokens of a table. E0308 where a token is missing.
expected<merge_table> resolve_merges(const merge_list& list, const token_table& table, std::size_t prefix_bytes,
                                     const std::string& where);

}  // namespace troupe
