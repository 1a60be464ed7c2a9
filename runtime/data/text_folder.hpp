#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/data_option.hpp"
#include <troupe/error.hpp>
#include <troupe/tokenizer.hpp>

namespace troupe {

/// What the folder of a model says about its texts.
struct text_folder {
  std::shared_ptr<const tokenizer> reader = {};
  /// The inputs that the model takes, without inputs=: input_ids, attention_mask, and token_type_ids where
  /// tokenizer_config.json lists them (model_input_names), or its class or model is BERT's.
  std::vector<std::string> inputs = {};
  /// The token of the beginning, else that of the end, as tokenizer_config.json and config.json have them: what stands
  /// before a text without context.
  std::optional<token_id> begin_id = {};
  /// config.json's id2label, in the order of the numbers, which begin at 0. Empty where it has none, or only the names
  /// LABEL_0, LABEL_1, ... that transformers makes up.
  std::vector<std::string> classes = {};
  /// The files of the folder that decide on token ids and classes.
  std::vector<std::string> files = {};

  /// Tokens that the model takes, where tokenizer_config.json says so.
  [[nodiscard]] std::optional<std::uint64_t> tokens_max() const;
};

/// The folder that tokenizer= names, with the inputs that inputs= names. Errors: as tokenizer::open; E0103 without
/// tokenizer=, and for an input that a tokenizer does not give; E0210 and E0214 for a damaged configuration.
expected<text_folder> open_text_folder(const data_request& request);

/// The token ids of a text alone.
expected<std::vector<token_id>> ids_of(const tokenizer& reader, std::string_view text);

}  // namespace troupe
