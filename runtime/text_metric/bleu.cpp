#include "runtime/text_metric/bleu.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "runtime/text_metric/python_text.hpp"

namespace troupe {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_point(char c) {
  return c == '.' || c == ',';
}

/// The signs of ASCII but ' , - . which are split off everywhere.
bool is_sign(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string made;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    made += text.substr(at, found - at);
    if (found == std::string_view::npos) return made;
    made += to;
    at = found + from.size();
  }
}

std::string without_markup(std::string_view line) {
  std::string made = replaced(replaced(replaced(line, "<skipped>", ""), "-\n", ""), "\n", " ");
  if (made.find('&') == std::string::npos) return made;
  made = replaced(replaced(made, "&quot;", "\""), "&amp;", "&");
  return replaced(replaced(made, "&lt;", "<"), "&gt;", ">");
}

/// Puts blanks where two neighbours that `parts` accepts stand: what it gives says how. A pair that was found is behind
/// the search, as for re.sub of Python.
template <class IsPair>
std::string split_pairs(std::string_view text, const IsPair& is_pair, std::string_view before, std::string_view after) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    if (at + 1 < text.size() && is_pair(text[at], text[at + 1])) {
      made.append(before).append(1, text[at]).append(" ").append(1, text[at + 1]).append(after);
      at += 2;
    } else {
      made += text[at++];
    }
  }
  return made;
}

using ngram_counts = std::map<std::string_view, std::uint64_t>;

/// A line with one blank between its words, so that an n-gram is a part of the text.
class word_line {
 public:
  explicit word_line(std::string_view words) {
    for (const std::string_view word : python::split(words)) {
      begins_.push_back(text_.size());
      text_.append(word).append(" ");
    }
    begins_.push_back(text_.size());
  }

  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
  [[nodiscard]] ngram_counts count(std::size_t order) const {
    ngram_counts counts;
    for (std::size_t i = 0; i + order <= size(); ++i) {
      ++counts[std::string_view(text_).substr(begins_[i], begins_[i + order] - begins_[i])];
    }
    return counts;
  }

 private:
  std::string text_;
  std::vector<std::size_t> begins_;
};

word_line read_line(std::string_view line, bleu_words words) {
  const std::string_view stripped = python::right_strip(line);
  return word_line(words == bleu_words::spaces ? std::string(stripped) : tokenize_13a(stripped));
}

std::uint64_t closest_length(std::uint64_t words, const std::vector<word_line>& references) {
  const auto key = [words](const word_line& each) {
    const std::uint64_t size = each.size();
    return std::pair(size > words ? size - words : words - size, size);
  };
  return std::ranges::min_element(references, {}, key)->size();
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
  std::string text = " ";
  for (const char each : without_markup(line)) {
    if (is_sign(each)) {
      text.append(" ").append(1, each).append(" ");
    } else {
      text += each;
    }
  }
  text += ' ';
  text = split_pairs(
      text, [](char a, char b) { return !is_digit(a) && is_point(b); }, "", " ");
  text = split_pairs(
      text, [](char a, char b) { return is_point(a) && !is_digit(b); }, " ", "");
  text = split_pairs(
      text, [](char a, char b) { return is_digit(a) && b == '-'; }, "", " ");
  return python::with_single_blanks(text);
}

bleu_counts count_bleu(std::string_view hypothesis, std::span<const std::string> references, bleu_words words) {
  const word_line found = read_line(hypothesis, words);
  std::vector<word_line> wanted;
  for (const std::string& each : references) wanted.push_back(read_line(each, words));
  bleu_counts made;
  made.words = found.size();
  made.reference_words = closest_length(found.size(), wanted);
  for (std::size_t order = 1; order <= bleu_orders; ++order) {
    std::vector<ngram_counts> known;
    known.reserve(wanted.size());
    for (const word_line& each : wanted) known.push_back(each.count(order));
    for (const auto& [ngram, count] : found.count(order)) {
      std::uint64_t most = 0;
      for (const ngram_counts& each : known) {
        const auto there = each.find(ngram);
        if (there != each.end()) most = std::max(most, there->second);
      }
      made.matches[order - 1] += std::min(count, most);
      made.ngrams[order - 1] += count;
    }
  }
  return made;
}

bleu_counts& operator+=(bleu_counts& total, const bleu_counts& part) noexcept {
  for (std::size_t i = 0; i < bleu_orders; ++i) {
    total.matches[i] += part.matches[i];
    total.ngrams[i] += part.ngrams[i];
  }
  total.words += part.words;
  total.reference_words += part.reference_words;
  return total;
}

bleu_score bleu_of(const bleu_counts& counts, bleu_smoothing smoothing) {
  bleu_score made;
  const auto words = static_cast<double>(counts.words);
  const auto wanted = static_cast<double>(counts.reference_words);
  made.brevity_penalty = counts.words >= counts.reference_words ? 1 : words > 0 ? std::exp(1 - wanted / words) : 0;
  if (std::ranges::all_of(counts.matches, [](std::uint64_t each) { return each == 0; })) return made;
  double halved = 1;
  double sum_of_logs = 0;
  for (std::size_t i = 0; i < bleu_orders; ++i) {
    const auto ngrams = static_cast<double>(counts.ngrams[i]);
    double& precision = made.precisions[i];
    if (counts.matches[i] > 0) {
      precision = 100 * static_cast<double>(counts.matches[i]) / ngrams;
    } else if (counts.ngrams[i] > 0 && smoothing == bleu_smoothing::exponential) {
      halved *= 2;
      precision = 100 / (halved * ngrams);
    }
    if (precision == 0) return made;  // a product with 0
    sum_of_logs += std::log(precision);
  }
  made.score = made.brevity_penalty * std::exp(sum_of_logs / static_cast<double>(bleu_orders));
  return made;
}

}  // namespace troupe
