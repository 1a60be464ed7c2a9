#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/data/table_source.hpp"

namespace troupe {

/// Where a cell stands, for errors.
struct cell_place {
  const std::string& path;
  std::uint64_t line;
  const std::string& column;
  /// The option that names others.
  std::string_view option = "columns";
};

bool is_blank(const std::string& cell);

/// E0303 for an array of numbers, "[0, 1]", in a column of classes, which would else be the name of a class.
expected<void> check_no_array(const std::string& cell, const cell_place& place);

/// How many numbers a cell has: 0 where it is no array, "[1,2]", else those of the array. E0303 for an array without a
/// number.
expected<std::int64_t> width_of_cell(const std::string& cell, const cell_place& place);

/// The numbers of a cell that has `width` of them, 0 for one alone; true and false are 1 and 0. Errors: E0303 for
/// another number of them, an array in an array, and a text that is no number of the type.
expected<void> read_cell(const table_cell& cell, std::int64_t width, const cell_place& place, std::span<float> into);
expected<void> read_cell(const table_cell& cell, std::int64_t width, const cell_place& place,
                         std::span<std::int64_t> into);

/// E0307: the cell is not what it was when the set was opened.
tl::unexpected<error> changed(const cell_place& place);

}  // namespace troupe
