#pragma once

#include <memory>

#include "runtime/json/json_part.hpp"
#include "runtime/text/document.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Cuts a normalized text into words, which a model then cuts into tokens. Threads: any.
class pre_tokenizer {
 public:
  pre_tokenizer() = default;
  virtual ~pre_tokenizer() = default;
  pre_tokenizer(const pre_tokenizer&) = delete;
  pre_tokenizer& operator=(const pre_tokenizer&) = delete;

  /// E0303 where a regular expression gives up.
  [[nodiscard]] virtual expected<void> apply(document& text) const = 0;
  /// Whether words are left as bytes, for which their characters stand from here on (byte_alphabet.hpp).
  [[nodiscard]] virtual bool gives_bytes() const { return false; }
};

/// A part "pre_tokenizer" of a tokenizer.json. E0210 damaged, E0308 not supported.
expected<std::unique_ptr<const pre_tokenizer>> read_pre_tokenizer(const json_part& part);

std::unique_ptr<const pre_tokenizer> make_bert_pre_tokenizer();
std::unique_ptr<const pre_tokenizer> make_byte_level_pre_tokenizer(bool adds_space, bool uses_regex);
/// The words of GPT-2, or those of an expression that stands alone, then bytes.
std::unique_ptr<const pre_tokenizer> make_regex_byte_pre_tokenizer(const std::string& expression);

}  // namespace troupe
