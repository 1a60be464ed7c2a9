#include "runtime/model/tuple_growth.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t most = std::uint64_t{1} << 32;

constexpr std::uint64_t members_of_a_result = 8;

/// Give back what they get.
constexpr std::array<std::string_view, 5> passing_on{"annotate", "unchecked_cast", "unchecked_unwrap_optional",
                                                     "__getitem__", "TupleIndex"};

bool opens(const code_word& word) {
  return word.kind == '(' || word.kind == '[' || word.kind == '{';
}
bool closes(const code_word& word) {
  return word.kind == ')' || word.kind == ']' || word.kind == '}';
}

/// Whether the bracket at `at` has the arguments of a call that gives something of its own.
bool is_own_call(const code_line& line, std::size_t at) {
  return at > 0 && line.is(at, "(") && line.is_name(at - 1) &&
         std::ranges::find(passing_on, line.words[at - 1].text) == passing_on.end();
}

/// The position behind the bracket that belongs to the one at `at`.
std::size_t end_of_brackets(const code_line& line, std::size_t at) {
  std::size_t depth = 0;
  for (; at < line.words.size(); ++at) {
    if (opens(line.words[at])) ++depth;
    if (closes(line.words[at]) && --depth == 0) return at + 1;
  }
  return at;
}

/// The `=` outside of all brackets; 0 if there is none.
std::size_t assignment(const code_line& line) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < line.words.size(); ++at) {
    const std::string& text = line.words[at].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && depth > 0) --depth;
    if (text == "=" && depth == 0) return at;
  }
  return 0;
}

}  // namespace

void tuple_growth::read(const code_line& line) {
  const std::size_t equals = assignment(line);
  const size made = size_of(line, equals == 0 ? 0 : equals + 1);
  largest_ = std::max(largest_, made.whole);
  if (made.whole <= 1) return;
  const bool is_taken_apart = equals > 1 && line.is(1, ",");
  for (std::size_t at = 0; at < equals; ++at) {
    if (!line.is_name(at)) continue;
    size& known = sizes_[line.words[at].text];
    known.whole = std::max(known.whole, is_taken_apart ? made.member : made.whole);
    known.member = std::max(known.member, made.member);
  }
}

tuple_growth::size tuple_growth::size_of(const code_line& line, std::size_t begin) const {
  std::uint64_t sum = 1;
  size largest;
  bool is_tuple = false;
  /// By open bracket: whether a comma in it makes a tuple.
  std::vector<bool> makes_tuple{true};
  for (std::size_t at = begin; at < line.words.size(); ++at) {
    const code_word& word = line.words[at];
    if (is_own_call(line, at)) {
      sum += members_of_a_result;
      largest.whole = std::max(largest.whole, members_of_a_result);
      largest.member = std::max(largest.member, members_of_a_result);
      at = end_of_brackets(line, at) - 1;
      continue;
    }
    if (opens(word)) makes_tuple.push_back(word.kind == '(' && (at == begin || !line.ends_value(at - 1)));
    if (closes(word) && makes_tuple.size() > 1) makes_tuple.pop_back();
    is_tuple = is_tuple || (word.kind == ',' && makes_tuple.back());
    if (!line.is_name(at)) continue;
    const auto known = sizes_.find(word.text);
    const size named = known == sizes_.end() ? size() : known->second;
    sum = std::min(most, sum + named.whole);
    largest.whole = std::max(largest.whole, named.whole);
    largest.member = std::max(largest.member, named.member);
  }
  return is_tuple ? size{sum, largest.whole} : largest;
}

}  // namespace troupe
