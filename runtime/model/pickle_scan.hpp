#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "runtime/model/pickle_tensors.hpp"

namespace troupe {

/// What a pickle would build, found out without building it.
struct pickle_outline {
  /// Classes and functions that it names, "__torch__.Net", in order.
  std::vector<std::string> globals;
  /// Objects within objects within objects, along the longest way; a cycle counts as longer than anything.
  std::size_t depth = 0;
  /// The same for the names of types.
  std::size_t text_depth = 0;
  /// What its tensors have in entries of the archive.
  std::vector<pickled_record> records;
  bool has_sparse = false;
  /// More values than were allowed; the rest was not read.
  bool is_too_large = false;
};

/// Runs the opcodes that LibTorch's unpickler knows on a stack of numbers. The error says in which byte it ended;
/// LibTorch would end there, too, or read beyond the file: tensors outside of their storage, functions and types that
/// are given as numbers. Takes memory in proportion to the bytes, for `values_max` values at most.
tl::expected<pickle_outline, std::string> scan_pickle(std::string_view bytes, std::uint64_t values_max);

}  // namespace troupe
