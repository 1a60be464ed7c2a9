#include "runtime/text_metric/python_text.hpp"

#include <cstdint>

#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "messages/check.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe::python {

namespace {

/// The root locale, as Python knows none.
const UCaseMap& root_case_map() {
  static const UCaseMap* const map = [] {
    UErrorCode failure = U_ZERO_ERROR;
    UCaseMap* const opened = ucasemap_open("", 0, &failure);
    TROUPE_CHECK(U_SUCCESS(failure) != 0, "ICU has a case map of the root locale");
    return opened;
  }();
  return *map;
}

/// Negative where there is no character.
UChar32 next_or_negative(std::string_view text, std::size_t& at) noexcept {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  UChar32 c = 0;
  U8_NEXT(bytes, at, text.size(), c);
  return c;
}

}  // namespace

char32_t next_character(std::string_view text, std::size_t& at) noexcept {
  const UChar32 c = next_or_negative(text, at);
  return c < 0 ? U'\uFFFD' : static_cast<char32_t>(c);
}

std::size_t length(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) next_character(text, at);
  return count;
}

std::string lower(std::string_view text) {
  if (utf8::is_ascii(text)) return lower_case(text);
  std::string made(text);
  if (text.size() > INT32_MAX / 4 || utf8::invalid_utf8_at(text) != std::string_view::npos) return made;
  made.resize(3 * text.size());
  UErrorCode failure = U_ZERO_ERROR;
  const std::int32_t size = ucasemap_utf8ToLower(&root_case_map(), made.data(), static_cast<std::int32_t>(made.size()),
                                                 text.data(), static_cast<std::int32_t>(text.size()), &failure);
  TROUPE_CHECK(size >= 0 && static_cast<std::size_t>(size) <= made.size(), "no lower case is three times as long");
  made.resize(static_cast<std::size_t>(size));
  return made;
}

bool is_space(char32_t c) noexcept {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word(char32_t c) noexcept {
  const auto point = static_cast<UChar32>(c);
  return c == U'_' || u_isalpha(point) != 0 || u_getIntPropertyValue(point, UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t here = at;
    if (!is_space(next_character(text, at))) continue;
    if (here > begin) words.push_back(text.substr(begin, here - begin));
    begin = at;
  }
  if (begin < text.size()) words.push_back(text.substr(begin));
  return words;
}

std::string with_single_blanks(std::string_view text) {
  std::string joined;
  for (const std::string_view word : split(text)) joined.append(joined.empty() ? "" : " ").append(word);
  return joined;
}

std::string_view left_strip(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t here = at;
    if (!is_space(next_character(text, at))) return text.substr(here);
  }
  return text.substr(text.size());
}

std::string_view right_strip(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_space(next_character(text, at))) end = at;
  }
  return text.substr(0, end);
}

std::string_view strip(std::string_view text) {
  return right_strip(left_strip(text));
}

}  // namespace troupe::python
