#pragma once

#include <cstddef>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe::cli {

/// Results, to stdout, unbuffered and whole. A closed pipe or a full disk is E0611.
expected<void> print(std::string_view text);

/// All else, to stderr. A missing reader is no error: where a full pipe or a stopped terminal takes nothing for
/// limits::stderr_patience the text is lost, and a later one says that. Any thread.
void say(std::string_view text);
/// The same for texts that nothing may wait for: lost at once where they would.
void say_if_read(std::string_view text);

/// The error with its code's explanation pointed to.
void say_error(const error& problem);
void say_warning(std::string_view text);

/// Columns of the terminal behind stdout or stderr; 100 where that is none.
std::size_t output_width();
bool stderr_is_terminal();

}  // namespace troupe::cli
