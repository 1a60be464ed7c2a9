#include "runtime/text/sentencepiece_file.hpp"

#include <cstring>

#include "messages/file_fixes.hpp"
#include "messages/try.hpp"
#include "runtime/os/protobuf_fields.hpp"
#include "runtime/text/tokenizer_file.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

/// An int32 stands as 64 bits with its sign.
std::int64_t whole(std::uint64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

bool read_piece(std::string_view bytes, sentencepiece_file& to) {
  protobuf_fields fields(bytes);
  sentencepiece_file::piece piece;
  while (const auto found = fields.next()) {
    if (found->number == 1) piece.text = found->bytes;
    if (found->number == 2 && found->bytes.size() == 4) std::memcpy(&piece.score, found->bytes.data(), 4);
    if (found->number == 3) {
      if (found->value < 1 || found->value > 6) return false;
      piece.type = static_cast<sentencepiece_file::piece_type>(found->value);
    }
  }
  to.pieces.push_back(piece);
  return !fields.is_wrong() && utf8::invalid_utf8_at(piece.text) == std::string_view::npos;
}

bool read_trainer(std::string_view bytes, sentencepiece_file& to) {
  protobuf_fields fields(bytes);
  while (const auto found = fields.next()) {
    switch (found->number) {
      case 3:
        to.model_type = found->value;
        break;
      case 24:
        to.is_suffix = found->value != 0;
        break;
      case 35:
        to.has_byte_fallback = found->value != 0;
        break;
      case 41:
        to.bos_id = whole(found->value);
        break;
      case 42:
        to.eos_id = whole(found->value);
        break;
      case 43:
        to.pad_id = whole(found->value);
        break;
      default:
        break;
    }
  }
  return !fields.is_wrong();
}

bool read_normalizer_spec(std::string_view bytes, sentencepiece_file& to) {
  protobuf_fields fields(bytes);
  while (const auto found = fields.next()) {
    switch (found->number) {
      case 2:
        to.charsmap = found->bytes;
        break;
      case 3:
        to.adds_prefix = found->value != 0;
        break;
      case 4:
        to.removes_spaces = found->value != 0;
        break;
      case 5:
        to.escapes_spaces = found->value != 0;
        break;
      default:
        break;
    }
  }
  return !fields.is_wrong();
}

}  // namespace

expected<sentencepiece_file> parse_sentencepiece(std::string_view bytes, const std::string& where) {
  sentencepiece_file made;
  protobuf_fields fields(bytes);
  bool is_right = true;
  while (const auto found = is_right ? fields.next() : std::nullopt) {
    if (made.pieces.size() >= tokens_max) {
      return fail(error_code::model_beyond_limits, where, "it has more than " + std::to_string(tokens_max) + " tokens",
                  limits_fix);
    }
    if (found->number == 1) is_right = read_piece(found->bytes, made);
    if (found->number == 2) is_right = read_trainer(found->bytes, made);
    if (found->number == 3) is_right = read_normalizer_spec(found->bytes, made);
  }
  if (is_right && !fields.is_wrong() && !made.pieces.empty()) return made;
  return fail(error_code::model_unreadable, where, "the file is damaged: it is no model of SentencePiece",
              copy_again_fix);
}

}  // namespace troupe
