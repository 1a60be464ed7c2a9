#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/text/added_tokens.hpp"
#include "runtime/text/decoder.hpp"
#include "runtime/text/normalizer.hpp"
#include "runtime/text/post_processor.hpp"
#include "runtime/text/pre_tokenizer.hpp"
#include "runtime/text/token_model.hpp"
#include <troupe/tokenizer.hpp>

namespace troupe {

/// What a tokenizer is made of.
struct tokenizer_parts {
  std::string where;
  /// None where the text is left as it is.
  std::unique_ptr<const normalizer> normalize;
  std::unique_ptr<const pre_tokenizer> cut;
  std::unique_ptr<const token_model> model;
  added_tokens added;
  post_processing post;
  std::unique_ptr<const decoder> decode;
  encode_options file_options;
  std::optional<token_id> pad_id;
  std::optional<std::size_t> model_max_length;
  /// For each row of the model's table: characters of white space that its text begins and ends with.
  struct spaces {
    std::uint16_t before = 0;
    std::uint16_t behind = 0;
  };
  std::vector<spaces> spaces_of_rows = {};
};

std::shared_ptr<const tokenizer> make_tokenizer(std::unique_ptr<tokenizer_parts> parts);

}  // namespace troupe
