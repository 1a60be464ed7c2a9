#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/post_processor.hpp"
#include "runtime/text/token_table.hpp"
#include <troupe/tokenizer.hpp>

namespace troupe {

/// The tokens of one of the texts.
struct cut_text {
  struct token {
    token_id id = 0;
    text_span span;
    /// Characters of white space that the token begins and ends with.
    std::uint16_t spaces_before = 0;
    std::uint16_t spaces_behind = 0;
  };
  std::string_view text;
  std::vector<token> tokens;
};

/// The windows of one text or two, with special tokens, cut and padded by `options`. E0103 where the options leave no
/// room.
expected<std::vector<encoding>> make_windows(std::vector<cut_text> texts, const post_processing& how,
                                             const encode_options& options, token_id pad_id);

/// Brings encodings to one length.
void pad_all(std::span<encoding> encodings, const padding& how, token_id pad_id);

}  // namespace troupe
