#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <c10/core/ScalarType.h>

#include <troupe/error.hpp>

namespace troupe {

/// INPUTS,LABELS[,DTYPE][,ignore=LABEL], as data are named on the command line.
struct npy_path {
  /// As it was given.
  std::string text;
  std::string inputs;
  std::string labels;
  std::optional<at::ScalarType> dtype;
  /// Samples with this label are left out.
  std::optional<std::int64_t> ignored;
};

/// Options in any order, each once. Errors: E0103.
expected<npy_path> parse_npy_path(const std::string& text);

}  // namespace troupe
