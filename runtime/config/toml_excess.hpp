#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The first character of a TOML text that nests more than limits::config_key_dots_max and limits::config_nesting_max
/// allow. Line and column count from 1, the column in code points, as toml++ does.
struct toml_excess {
  std::size_t line = 1;
  std::size_t column = 1;
  /// "a key of more than 17 parts"
  std::string cause;
};

/// Looks at a text before it is parsed: toml++ makes and destroys a table per part of a key recursively, so that a key
/// of some ten thousand parts overflows the stack. Says nothing of the text otherwise; one that is no TOML is the
/// parser's matter, which stops at the first fault.
std::optional<toml_excess> find_excess(std::string_view text);

}  // namespace troupe
