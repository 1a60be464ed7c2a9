#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Edits that turn one word into the other: insert, delete, replace, or swap two neighbours (the optimal string
/// alignment distance). Upper and lower case are alike, and so are hyphen and underscore.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name that `word` was probably meant to be: within two edits, with the same digits if both have any, and
/// never more than half of the letters; or the shortest one that begins with `word`. Nothing if none is near. Of
/// equally near ones the first wins.
std::optional<std::string> suggest(std::string_view word, std::span<const std::string> known);

/// The fix of an error about an unknown name: `write "accuracy"` or `use one of: accuracy, nll`.
std::string suggest_fix(std::string_view word, std::span<const std::string> known);

}  // namespace troupe
