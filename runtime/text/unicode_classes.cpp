#include "runtime/text/unicode_classes.hpp"

#include <array>
#include <cstddef>

#include <unicode/uchar.h>

#include "messages/check.hpp"
#include "runtime/text/unicode_runs.hpp"

namespace troupe::unicode {
namespace {

constexpr std::size_t character_count = 0x110000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Pairs that came after the edition of Unicode of Debian's ICU.
struct case_run {
  char32_t first = 0;
  char32_t last = 0;
  char32_t lower = 0;
};
constexpr std::array new_pairs = {case_run{0x1C89, 0x1C89, 0x1C8A},    case_run{0xA7CB, 0xA7CB, 0x0264},
                                  case_run{0xA7CC, 0xA7CC, 0xA7CD},    case_run{0xA7CE, 0xA7CE, 0xA7CF},
                                  case_run{0xA7D2, 0xA7D2, 0xA7D3},    case_run{0xA7D4, 0xA7D4, 0xA7D5},
                                  case_run{0xA7DA, 0xA7DA, 0xA7DB},    case_run{0xA7DC, 0xA7DC, 0x019B},
                                  case_run{0x10D50, 0x10D65, 0x10D70}, case_run{0x16EA0, 0x16EB8, 0x16EBB}};

}  // namespace

const character_table& character_table::get() {
  static const character_table table;
  return table;
}

character_table::character_table() {
  flags_of_.reserve(character_count);
  for (std::size_t at = 0; at < runs.size();) {
    const std::uint8_t flags = flags_of_classes[class_names.find(runs[at++])];
    std::size_t count = 0;
    while (at < runs.size() && is_digit(runs[at])) count = count * 10 + static_cast<std::size_t>(runs[at++] - '0');
    flags_of_.insert(flags_of_.end(), count == 0 ? 1 : count, flags);
  }
  TROUPE_CHECK(flags_of_.size() == character_count, "each character has flags");
}

lower_case to_lower(char32_t c) noexcept {
  if (c < 0x80) return {c >= U'A' && c <= U'Z' ? c + 32 : c};
  if (c == 0x130) return {U'i', 0x307};
  if (c >= 0x1C89) {
    for (const case_run& run : new_pairs) {
      if (c >= run.first && c <= run.last) return {run.lower + (c - run.first)};
    }
  }
  return {static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)))};
}

}  // namespace troupe::unicode
