#pragma once

#include <cstdint>
#include <vector>

namespace troupe::unicode {

/// Each as a part of the package has it; the comments say which.
enum flag : std::uint8_t {
  white_space = 1U << 0,      ///< WhitespaceSplit, BertPreTokenizer, Strip
  numeric = 1U << 1,          ///< Digits
  control = 1U << 2,          ///< what BertNormalizer removes as no text; without tab and ends of lines
  mark_nonspacing = 1U << 3,  ///< accents of BertNormalizer
  combining = 1U << 4,        ///< StripAccents
  punctuation = 1U << 5,      ///< Punctuation, BertPreTokenizer
  word = 1U << 6,             ///< \w of Whitespace, and around added tokens that are single words
  whitespace_space = 1U << 7  ///< \s of Whitespace
};

/// The flags of all characters, looked up in constant time. Threads: any.
class character_table {
 public:
  /// Made once, in some milliseconds.
  static const character_table& get();

  [[nodiscard]] std::uint8_t operator[](char32_t c) const noexcept { return flags_of_[c]; }
  [[nodiscard]] bool has(char32_t c, flag wanted) const noexcept { return (flags_of_[c] & wanted) != 0; }

 private:
  character_table();

  std::vector<std::uint8_t> flags_of_;
};

/// The lower case of a character, alone: one character, but two for U+0130.
struct lower_case {
  char32_t first = 0;
  /// 0 for none.
  char32_t second = 0;
};
lower_case to_lower(char32_t c) noexcept;

}  // namespace troupe::unicode
