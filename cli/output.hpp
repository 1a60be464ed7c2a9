#pragma once

#include <cstddef>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe::cli {

/// Writes a result to stdout, exactly as given. When it returns, all of the text is written. E0611 if the pipe is
/// closed or the disk is full.
expected<void> print(std::string_view text);

/// Writes a text that is no result to stderr, exactly as given: progress, warnings, errors. There is no error if it is
/// not read: if a full pipe or a stopped terminal takes nothing for limits::stderr_patience, the text is dropped, and
/// the next text that is written says so. Any thread.
void say(std::string_view text);
/// The same, for a caller that must not wait: a text that stderr does not take at once is dropped.
void say_if_read(std::string_view text);

/// If stderr is a pipe, waits until its reader has read all texts, for at most limits::stderr_patience.
void await_reader();

/// Writes the error to stderr, with the command that explains its code. If the process was started by another one that
/// reads error lines (runtime/process/error_line.hpp), it writes such a line instead.
void say_error(const error& problem);
/// Writes a warning to stderr.
void say_warning(std::string_view text);

/// The columns of the terminal to which stdout or stderr leads; 100 if neither leads to one.
std::size_t output_width();
bool stderr_is_terminal();

}  // namespace troupe::cli
