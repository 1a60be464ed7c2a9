#pragma once

#include <cstdint>
#include <string_view>

namespace troupe {

/// Edits and words of any number of pairs; they are added up.
struct word_errors {
  std::uint64_t edits = 0;
  /// In the references.
  std::uint64_t words = 0;

  /// edits / words, which may be above 1. The number of edits where there are no words.
  [[nodiscard]] double rate() const noexcept;
};

/// The least number of words to replace, to add and to leave out that make `reference` of `hypothesis`. Words are those
/// of jiwer.wer() of Python with its defaults: case and punctuation count, and what stands between words is a blank, or
/// two or more spaces of any kind. Memory: 4 bytes for each word of the shorter text.
word_errors count_word_errors(std::string_view reference, std::string_view hypothesis);

}  // namespace troupe
