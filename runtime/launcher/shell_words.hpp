#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The text as one word of a Bourne shell, in single quotes.
std::string quote_for_shell(std::string_view text);

/// The words between blanks and tabs; nothing is quoted.
std::vector<std::string> split_at_blanks(std::string_view text);

/// Where execvp(3) would find the program: its own name if that has a '/', else the first executable file of that name
/// in the directories of `path` (the variable PATH).
std::optional<std::string> find_program(const std::string& name, std::string_view path);

/// The directory of this program's file, without a '/' at its end.
std::string own_directory();

/// As the user knows it: PWD where that is this directory, as that of a network's disk has the same name on all nodes.
std::string working_directory();

}  // namespace troupe
