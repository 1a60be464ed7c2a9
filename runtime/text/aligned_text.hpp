#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/utf8.hpp"
#include <troupe/tokenizer.hpp>

namespace troupe {

/// A text that is being changed, and which bytes of the original text each of its bytes comes from.
struct aligned_text {
  std::string text;
  /// As many as bytes.
  std::vector<text_span> spans;
  /// Where the original of this text begins.
  std::uint32_t origin = 0;

  /// Appends characters that stand for themselves: `part` begins at the byte `at` of the original.
  void append_original(std::string_view part, std::uint32_t at);
};

/// Writes the new form of a text, character by character, by the rules of the `tokenizers` package: where the
/// characters of the new text come from decides the offsets of tokens. Call finish() at the end.
class text_rewriter {
 public:
  /// Leaves out the first `removed` characters of the text, whose place the new first character does not take.
  explicit text_rewriter(aligned_text& text, std::size_t removed = 0);

  /// The next character. `change` is 0 where it replaces the next one of the old text; 1 where it is new and takes the
  /// place of the one before; -n where it replaces the next one and n behind that go.
  void put(char32_t c, int change);
  /// Removes the next character of the old text after the last one that was put.
  void finish();

 private:
  void skip();

  aligned_text& from_;
  std::string text_;
  std::vector<text_span> spans_;
  std::size_t at_ = 0;
};

/// Leaves out the characters for which `is_kept` says no.
template <class IsKept>
void filter_characters(aligned_text& text, const IsKept& is_kept) {
  std::size_t removed_first = 0;
  std::size_t at = 0;
  while (at < text.text.size()) {
    std::size_t behind = at;
    if (is_kept(utf8::next(text.text, behind))) break;
    at = behind;
    ++removed_first;
  }
  const std::string& old = text.text;
  text_rewriter out(text, removed_first);
  while (at < old.size()) {
    const char32_t c = utf8::next(old, at);
    int removed = 0;
    while (at < old.size()) {
      std::size_t behind = at;
      if (is_kept(utf8::next(old, behind))) break;
      at = behind;
      ++removed;
    }
    out.put(c, -removed);
  }
  out.finish();
}

/// Puts `map(c)`, one character, in the place of each.
template <class Map>
void map_characters(aligned_text& text, const Map& map) {
  const std::string& old = text.text;
  text_rewriter out(text);
  for (std::size_t at = 0; at < old.size();) out.put(map(utf8::next(old, at)), 0);
  out.finish();
}

/// Puts the character that stands for each byte (byte_alphabet.hpp) in its place.
void write_bytes(aligned_text& text);

/// Puts `content` before a text that is not empty.
void prepend(aligned_text& text, std::string_view content);

/// Puts `content` in the place of each of `matches`, which are parts of the text in ascending order.
void replace(aligned_text& text, const std::vector<text_span>& matches, std::string_view content);

}  // namespace troupe
