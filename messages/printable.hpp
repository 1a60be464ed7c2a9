#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// Text from outside (names of files, output of programs, models) as it may stand in a message: control characters,
/// bytes that are no UTF-8, line separators and marks that change the direction of writing are written as \x1b. Text
/// without them stays as it is. Threads: pure.

/// On one line: ends of lines and tabs are written so, too.
[[nodiscard]] std::string printable(std::string_view text);
/// The same in at most `bytes_max` bytes: a text that could take more ends in "..." behind a whole character.
[[nodiscard]] std::string printable(std::string_view text, std::size_t bytes_max);
/// Tabs and ends of lines stay, and every line but the first begins with two blanks: no text can look like another
/// message.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace troupe
