#pragma once

#include <string>
#include <vector>

#include <toml++/toml.h>

#include "runtime/config/setting.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The table [data] of a config file: kind, path (a text, or an array where a kind takes several), workers, and the
/// options of the kind, with underscores in their names. Gives the settings of data, in its canonical text, and of
/// data_workers where it is there. `file` stands in positions. Errors: E0403 for an unknown key, E0404.
expected<std::vector<setting>> read_data_table(const std::string& file, const toml::table& table);

}  // namespace troupe
