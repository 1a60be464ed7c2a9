#include "runtime/text_metric/word_error.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "runtime/text_metric/python_text.hpp"

namespace troupe {

namespace {

using number_list = std::vector<std::uint32_t>;

/// One space of another kind than a blank is part of a word.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  text = python::strip(text);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at;
    const std::size_t spaces = text.size() - at - python::left_strip(text.substr(at)).size();
    const bool is_blank = text[at] == ' ';
    python::next_character(text, at);
    const bool has_more = spaces > at - end;
    if (!is_blank && !has_more) continue;
    at = end + spaces;
    words.push_back(text.substr(begin, end - begin));
    begin = at;
  }
  if (begin < text.size()) words.push_back(text.substr(begin));
  return words;
}

/// Equal words have equal numbers.
class word_numbers {
 public:
  number_list of(const std::vector<std::string_view>& words) {
    number_list made;
    made.reserve(words.size());
    for (const std::string_view each : words) {
      made.push_back(known_.emplace(each, static_cast<std::uint32_t>(known_.size())).first->second);
    }
    return made;
  }

 private:
  std::map<std::string_view, std::uint32_t> known_;
};

/// Levenshtein's distance, with one row of the table.
std::uint64_t distance(const number_list& longer, const number_list& shorter) {
  std::vector<std::uint32_t> row(shorter.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (const std::uint32_t word : longer) {
    std::uint32_t diagonal = row[0]++;
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      const std::uint32_t replaced = diagonal + (shorter[i] == word ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({replaced, row[i] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

double word_errors::rate() const noexcept {
  return static_cast<double>(edits) / static_cast<double>(words > 0 ? words : 1);
}

word_errors count_word_errors(std::string_view reference, std::string_view hypothesis) {
  word_numbers numbers;
  const number_list wanted = numbers.of(words_of(reference));
  const number_list found = numbers.of(words_of(hypothesis));
  const bool is_longer = found.size() > wanted.size();
  return {distance(is_longer ? found : wanted, is_longer ? wanted : found), wanted.size()};
}

}  // namespace troupe
