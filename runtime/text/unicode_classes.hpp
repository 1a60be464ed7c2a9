#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/text/unicode_runs.hpp"

namespace troupe::unicode {

/// General categories, in the order of unicode_runs.cpp.
enum class category : std::uint8_t {
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Co,
  Cn,
  Cs
};

/// Each as a part of the package has it; the comments say which.
enum flag : std::uint16_t {
  white_space = 1U << 0,       ///< WhitespaceSplit, BertPreTokenizer, Strip
  numeric = 1U << 1,           ///< Digits
  control = 1U << 2,           ///< what BertNormalizer removes as no text; without tab and ends of lines
  mark_nonspacing = 1U << 3,   ///< accents of BertNormalizer
  combining = 1U << 4,         ///< StripAccents
  punctuation = 1U << 5,       ///< Punctuation, BertPreTokenizer
  word = 1U << 6,              ///< \w of Whitespace, and around added tokens that are single words
  whitespace_space = 1U << 7,  ///< \s of Whitespace
  regex_space = 1U << 8,       ///< \s of other regular expressions
  regex_word = 1U << 9         ///< \w of other regular expressions
};

/// The properties of all characters, looked up in constant time. Threads: any.
class character_table {
 public:
  /// Made once, in some milliseconds.
  static const character_table& get();

  [[nodiscard]] const class_properties& operator[](char32_t c) const noexcept {
    return properties_of_classes[class_of_[c]];
  }
  [[nodiscard]] bool has(char32_t c, flag wanted) const noexcept { return ((*this)[c].flags & wanted) != 0; }

  /// Calls `take(first, last, properties)` for characters that follow each other and have the same properties.
  template <class Take>
  void for_each_run(const Take& take) const {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::size_t end = i + 1 < runs_.size() ? runs_[i + 1].first : class_of_.size();
      take(runs_[i].first, static_cast<char32_t>(end - 1), properties_of_classes[runs_[i].second]);
    }
  }

 private:
  character_table();

  std::vector<std::uint8_t> class_of_;
  /// First character and class.
  std::vector<std::pair<char32_t, std::uint8_t>> runs_;
};

/// The lower case of a character, alone: one character, but two for U+0130.
struct lower_case {
  char32_t first = 0;
  /// 0 for none.
  char32_t second = 0;
};
lower_case to_lower(char32_t c) noexcept;

}  // namespace troupe::unicode
