#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/setting.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The settings of a TOML file, in its order, each with "file:line:column". Keys are option names at the top level;
/// data may be a table (data_table.hpp).
/// Errors: E0401 no such file or a directory, E0402 syntax, too long or too deep (limits::config_...), E0403 unknown
/// key, E0404 wrong type or value; all with their position.
expected<std::vector<setting>> read_config(const std::string& path);

/// The same of a text; `name` stands for the file in positions.
expected<std::vector<setting>> parse_config(std::string_view text, const std::string& name);

/// The text of a file of options, which is a `kind`, "TOML file"; E0401, and E0402 beyond limits::config_bytes_max.
expected<std::string> read_config_text(const std::string& path, const std::string& kind);

}  // namespace troupe
