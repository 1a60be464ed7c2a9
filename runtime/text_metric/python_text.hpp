#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// What Python's functions of `str` do, on UTF-8. The reference programs of metrics of text are written in Python, and
/// their values depend on its meaning of spaces, letters and lower case. Bytes that are no UTF-8 stay as they are and
/// count as letters of no kind.
namespace troupe::python {

/// str.lower(): the full mapping of Unicode, with the final sigma of Greek.
std::string lower(std::string_view text);
/// str.isspace() of one character.
bool is_space(char32_t c) noexcept;
/// Whether \w of the module re matches it: a letter, a number of any kind, or an underscore.
bool is_word(char32_t c) noexcept;
/// str.split(): the words between runs of spaces.
std::vector<std::string_view> split(std::string_view text);
/// " ".join(text.split())
std::string with_single_blanks(std::string_view text);
/// str.strip(), str.lstrip() and str.rstrip().
std::string_view strip(std::string_view text);
std::string_view left_strip(std::string_view text);
std::string_view right_strip(std::string_view text);

/// The character at `at`, which is moved behind it. U+FFFD for a byte that belongs to none.
char32_t next_character(std::string_view text, std::size_t& at) noexcept;
/// The number of characters.
std::size_t length(std::string_view text) noexcept;

}  // namespace troupe::python
