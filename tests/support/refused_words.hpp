#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

/// Words that leave a reader to find the subject. Pages (tests/docs) and comments (tests/tree) have none of them.
inline constexpr std::array<std::string_view, 6> refused_words = {"whoever",   "nobody", "somebody",
                                                                  "everybody", "of it",  "what is"};

inline bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct refused_place {
  std::size_t at = 0;  ///< offset of the first character
  std::string_view words;
};

/// Words of one letter case, with one blank for a line break: paragraphs stay apart, as do words with a sign between.
class plain_words {
 public:
  explicit plain_words(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::size_t end = std::min(text.find_first_not_of(" \n", at), text.size());
      const std::string_view blank = text.substr(at, end - at);
      const std::size_t breaks = blank.size() - static_cast<std::size_t>(std::ranges::count(blank, ' '));
      if (breaks > 0) {
        add(breaks == 1 ? ' ' : '\n', at);
        at = end - 1;
      } else {
        add(text[at], at);
      }
    }
  }

  void find(std::string_view words, std::vector<refused_place>& into) const {
    for (std::size_t at = plain_.find(words); at != std::string::npos; at = plain_.find(words, at + 1)) {
      const std::size_t end = at + words.size();
      const bool begins = at == 0 || !is_word(plain_[at - 1]);
      const bool ends = end == plain_.size() || !is_word(plain_[end]);
      if (begins && ends) into.push_back({offsets_[at], words});
    }
  }

 private:
  void add(char c, std::size_t at) {
    plain_ += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    offsets_.push_back(at);
  }

  std::string plain_;
  std::vector<std::size_t> offsets_;
};

/// By word, then by place; also where a line ends between two words.
inline std::vector<refused_place> refused_words_in(std::string_view text) {
  const plain_words plain(text);
  std::vector<refused_place> found;
  for (const std::string_view words : refused_words) plain.find(words, found);
  return found;
}

}  // namespace troupe::testing
