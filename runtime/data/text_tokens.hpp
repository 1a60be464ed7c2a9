#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/tokenizer.hpp>

namespace troupe {

/// The token ids of a whole file: 8 bytes for each token.
struct text_tokens {
  std::vector<token_id> ids = {};
  /// How many bytes of the file there are up to the end of each token. Never falls. 0 for a special token at the
  /// beginning.
  std::vector<std::uint32_t> ends = {};
};

/// Bytes that are read at a time where the file has places to cut it.
inline constexpr std::uint64_t text_piece_bytes = std::uint64_t{1} << 20;
/// The longest text that is read as one.
inline constexpr std::uint64_t text_whole_bytes_max = std::uint64_t{256} << 20;

/// Reads a text file by `reader`, with the special tokens that stand before and behind a text. The ids are those of the
/// whole text. It is read in pieces, which end behind a line break that no white space follows, where the line before
/// and the line behind give the same tokens together and one by one. A text that has no such place, as with tokenizers
/// that put a space before every text, is read as one. Memory: the ids, and about 200 bytes for each byte of a piece.
/// `piece_bytes` is text_piece_bytes but in tests.
/// Errors: as open_bytes; E0303, with the offset, for bytes that are no UTF-8, for 4 GiB or more, for more tokens than
/// are kept, and for more than text_whole_bytes_max without a place to cut.
expected<text_tokens> read_text_tokens(const std::string& path, const tokenizer& reader,
                                       std::uint64_t piece_bytes = text_piece_bytes);

}  // namespace troupe
