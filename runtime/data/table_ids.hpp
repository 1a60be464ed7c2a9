#pragma once

#include <string>
#include <vector>

#include "runtime/data/kept_rows.hpp"
#include "runtime/data/table_source.hpp"

namespace troupe {

/// The cells of a column in the rows of `samples`, which lies inside [0, rows.size()). Where a row has no value, its
/// text is empty. Errors: as table_source::read.
expected<std::vector<std::string>> read_ids(const table_source& table, const kept_rows& rows, sample_range samples,
                                            const std::string& column);

}  // namespace troupe
