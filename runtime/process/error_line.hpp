#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

/// How a process tells the one that started it why it ends: the error as data, in one line of its standard error.
/// Its starter reads that line with the rest of the output (child_process).
namespace troupe {

/// Set in the environment of a process whose starter reads error lines; workers and try-outs need none.
inline constexpr const char* error_line_variable = "TROUPE_ERROR_LINE";

/// troupe-error {"code":707,"where":"...","cause":"...","fix":"..."}, without an end. Escaped as by to_string(error);
/// long texts are cut, so that the line has at most limits::worker_output_line_bytes_max bytes.
[[nodiscard]] std::string error_line(const error& e);
/// Takes what error_line() gives; nothing for any other line. The texts may be any: what shows them escapes them.
[[nodiscard]] std::optional<error> error_in(std::string_view line);

/// Where a process writes no such line: the last "error E0707: ..." among its lines, with the lines that go on and
/// its fix, all of which are taken out. It has no place, which stands in the cause.
[[nodiscard]] std::optional<error> take_last_error(std::vector<std::string>& lines);

/// From now on this process tells its errors in that form. Once, before other threads.
void tell_starter_errors() noexcept;
/// The same if the variable is there, which is removed: programs that this one starts are not asked. At the start of
/// main(), before other threads.
void read_error_line_variable() noexcept;
/// The last words of this process for its standard error, with the end of the last line: the line, or to_string().
[[nodiscard]] std::string last_words(const error& e);
[[nodiscard]] bool tells_starter_errors() noexcept;

}  // namespace troupe
