#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/model/code_line.hpp"
#include "runtime/model/code_scan.hpp"

namespace troupe {

/// What in this line may take any time or memory, of a line that LibTorch runs when it compiles the file: the head of a
/// function with its default values, or a line outside of functions. Nothing where there are constants alone, which is
/// what LibTorch writes. The text and the position of the word.
[[nodiscard]] std::optional<std::pair<std::string, std::size_t>> computes_when_compiled(const code_line& line);

/// The same of a line within a function that LibTorch runs when it loads an object (__setstate__), where more is
/// allowed: to take a state apart, and to pack weights. Names that are plain may be functions of the archive.
[[nodiscard]] std::optional<std::pair<std::string, std::size_t>> computes_when_loaded(const code_line& line);

}  // namespace troupe
