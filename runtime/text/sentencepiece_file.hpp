#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// A model of SentencePiece: the protobuf message ModelProto (sentencepiece_model.proto), as far as tokens need it.
struct sentencepiece_file {
  enum class piece_type : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct piece {
    std::string_view text = {};
    float score = 0;
    piece_type type = piece_type::normal;
  };
  /// They point into the bytes of the file.
  std::vector<piece> pieces = {};
  std::uint64_t model_type = 1;  ///< 1 for unigram, 2 for BPE
  bool has_byte_fallback = false;
  bool is_suffix = false;  ///< spaces belong to the word before
  std::int64_t bos_id = 1;
  std::int64_t eos_id = 2;
  std::int64_t pad_id = -1;
  std::string charsmap = {};
  bool adds_prefix = true;
  bool removes_spaces = true;
  bool escapes_spaces = true;
};

/// `bytes` must outlive the result. E0210 no such message; E0214 too many pieces.
expected<sentencepiece_file> parse_sentencepiece(std::string_view bytes, const std::string& where);

}  // namespace troupe
