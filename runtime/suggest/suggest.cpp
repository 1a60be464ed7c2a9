#include "runtime/suggest/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace troupe {
namespace {

char folded(char c) {
  if (c == '-') return '_';
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::string folded(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return folded(c); });
  return result;
}

std::string digits_of(std::string_view word) {
  std::string digits;
  for (const char c : word)
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  return digits;
}

/// cifar100 is no slip of cifar10; swapped digits are one.
bool has_other_number(std::string_view first, std::string_view second) {
  std::string a = digits_of(first);
  std::string b = digits_of(second);
  if (a.empty() || b.empty()) return false;
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a != b;
}

}  // namespace

std::size_t edit_distance(std::string_view first, std::string_view second) {
  const std::string a = folded(first);
  const std::string b = folded(second);
  // Three rows of the table of distances between prefixes: a swap looks back two rows.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> suggest(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t edits_max = 2;
  const std::string* nearest = nullptr;
  std::size_t least = edits_max + 1;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(word, name);
    if (has_other_number(word, name)) continue;
    if (distance < least && 2 * distance <= std::max(word.size(), name.size())) {
      nearest = &name;
      least = distance;
    }
  }
  if (nearest != nullptr) return *nearest;
  if (word.empty()) return std::nullopt;
  for (const std::string& name : known) {
    const bool begins = folded(name).starts_with(folded(word));
    if (begins && (nearest == nullptr || name.size() < nearest->size())) nearest = &name;
  }
  return nearest == nullptr ? std::nullopt : std::optional(*nearest);
}

std::string suggest_fix(std::string_view word, std::span<const std::string> known) {
  if (const auto near = suggest(word, known)) return "write \"" + *near + "\"";
  std::string list = "use one of: ";
  for (const std::string& name : known) {
    if (&name != &known.front()) list += ", ";
    list += name;
  }
  return list;
}

}  // namespace troupe
