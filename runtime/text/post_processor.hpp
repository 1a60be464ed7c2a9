#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/json/json_part.hpp"
#include "runtime/text/token_table.hpp"
#include <troupe/tokenizer.hpp>

namespace troupe {

/// An element of the sequence that one text or two become: an element is one of the texts or a special token.
struct template_piece {
  /// 0 or 1 for a text, -1 for special tokens.
  int text = -1;
  std::uint32_t type_id = 0;
  std::vector<token_id> specials = {};
};

/// How texts become one sequence.
struct post_processing {
  /// White space at the ends of tokens is left out of their offsets.
  struct trimming {
    /// Leave a space that was put before a text.
    bool keeps_added_space = true;
  };
  std::vector<trimming> trims = {};
  std::vector<template_piece> single = {{0, 0, {}}};
  std::vector<template_piece> pair = {{0, 0, {}}, {1, 1, {}}};
  /// Whether type ids are those of the template also where no special tokens are added.
  bool has_template = false;

  [[nodiscard]] std::size_t added_count(bool is_pair) const noexcept;
};

/// A part "post_processor" of a tokenizer.json. E0210 damaged, E0308 not supported.
expected<post_processing> read_post_processor(const json_part& part);

/// [CLS] and [SEP] of BERT: `open` A `close`, and `open` A `close` B `close` with type 1 from B on.
post_processing bert_processing(token_id open, token_id close);
/// RoBERTa's: `open` A `close`, and `open` A `close` `close` B `close`, all of type 0.
post_processing roberta_processing(token_id open, token_id close, bool trims, bool adds_space);

}  // namespace troupe
