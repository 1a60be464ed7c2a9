#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace troupe {

/// What a pickle would build, found out without building it.
struct pickle_outline {
  /// Classes and functions that it names, "__torch__.Net", in order.
  std::vector<std::string> globals;
  /// Objects within objects within objects, along the longest way; a cycle counts as longer than anything.
  std::size_t depth = 0;
  /// Opened brackets in one text, which may be the name of a type.
  std::size_t text_depth = 0;
};

/// Runs the opcodes that LibTorch's unpickler knows on a stack of numbers. The error says in which byte it ended;
/// LibTorch would end there, too. Takes memory in proportion to the bytes.
tl::expected<pickle_outline, std::string> scan_pickle(std::string_view bytes);

}  // namespace troupe
