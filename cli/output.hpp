#pragma once

#include <cstddef>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe::cli {

/// Writes a whole result to stdout before it returns, and adds nothing. A closed pipe or a full disk is E0611.
expected<void> print(std::string_view text);

/// Writes all else to stderr, and adds nothing. A missing reader is no error: where a full pipe or a stopped terminal
/// takes nothing for limits::stderr_patience the text is lost, and a later one says that. Any thread.
void say(std::string_view text);
/// The same, where the caller must not wait: a text that stderr does not take at once is lost.
void say_if_read(std::string_view text);

/// Waits until all that was said has been read, where stderr is a pipe; at most limits::stderr_patience.
void await_reader();

/// Says the error, and the command that explains its code; to a starter that reads error lines, such a line.
void say_error(const error& problem);
void say_warning(std::string_view text);

/// Columns of the terminal behind stdout or stderr; 100 where that is none.
std::size_t output_width();
bool stderr_is_terminal();

}  // namespace troupe::cli
