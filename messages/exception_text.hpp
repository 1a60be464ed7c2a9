#pragma once

#include <exception>
#include <string>

namespace troupe {

/// What an exception says, as an error can tell it: one line of at most 600 bytes and printable UTF-8, without the C++
/// stack frames that c10::Error has in its what() and without the tracebacks of the TorchScript interpreter. Of a
/// longer text the first three lines stay, joined by "; ". "an exception without a text" where there is none. Bytes
/// that cannot be printed are written as \x1b.
[[nodiscard]] std::string exception_text(const std::exception& caught);

/// The same of the exception that is being handled, whatever its type: for `catch (...)`, where code of a user may
/// throw anything. "something that is no std::exception" for what has no text.
[[nodiscard]] std::string current_exception_text();

}  // namespace troupe
