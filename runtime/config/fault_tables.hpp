#pragma once

#include <string>
#include <vector>

#include <toml++/toml.h>

#include <troupe/error.hpp>

namespace troupe {

struct written_faults {
  std::vector<std::string> texts;
  /// "run.toml:4:1", of each text.
  std::vector<std::string> places;
};

/// The faults of a config file as texts: of [[fault]] tables, whose keys are those of a text and "kind", or of an array
/// of texts. E0404 with line and column of the mistake.
expected<written_faults> read_fault_tables(const std::string& file, const toml::array& items);

}  // namespace troupe
