#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Turns tokens back into the parts of a text. Threads: any.
class decoder {
 public:
  decoder() = default;
  virtual ~decoder() = default;
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;

  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

/// A part "decoder" of a tokenizer.json. E0210 damaged, E0308 not supported.
expected<std::unique_ptr<const decoder>> read_decoder(const json_part& part);

std::unique_ptr<const decoder> make_word_piece_decoder(const std::string& prefix, bool cleans);
std::unique_ptr<const decoder> make_byte_level_decoder();
/// For vocabularies of SentencePiece: bytes, then spaces, without the first one.
std::unique_ptr<const decoder> make_sentencepiece_decoder(bool strips_first_space);

}  // namespace troupe
