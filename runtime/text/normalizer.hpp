#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/json/json_part.hpp"
#include "runtime/text/aligned_text.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Changes a text before it is cut. Threads: any.
class normalizer {
 public:
  normalizer() = default;
  virtual ~normalizer() = default;
  normalizer(const normalizer&) = delete;
  normalizer& operator=(const normalizer&) = delete;

  /// E0303 where a regular expression gives up.
  [[nodiscard]] virtual expected<void> apply(aligned_text& text) const = 0;
  /// The same for a text whose characters all keep their places. False where they may not; the text is then lost.
  [[nodiscard]] virtual bool apply_in_place(std::string& text) const = 0;
};

/// A part "normalizer" of a tokenizer.json. E0210 damaged, E0308 not supported.
expected<std::unique_ptr<const normalizer>> read_normalizer(const json_part& part);

struct bert_options {
  bool cleans_text = true;
  bool handles_chinese = true;
  bool strips_accents = true;
  bool lowers = true;
};
std::unique_ptr<const normalizer> make_bert_normalizer(const bert_options& options);
std::unique_ptr<const normalizer> make_nfc_normalizer();

/// The table of replacements of a SentencePiece model, as bytes. E0308 where it is damaged.
expected<std::unique_ptr<const normalizer>> make_charsmap_normalizer(const std::string& bytes,
                                                                     const std::string& where);

}  // namespace troupe
