#include "runtime/data/table_ids.hpp"

#include <algorithm>

#include "messages/try.hpp"

namespace troupe {

expected<std::vector<std::string>> read_ids(const table_source& table, const kept_rows& rows, sample_range samples,
                                            const std::string& column) {
  constexpr std::uint64_t rows_at_a_time = 64;
  std::vector<std::string> ids;
  ids.reserve(samples.size());
  for (const sample_range& run : rows.runs(samples)) {
    for (std::uint64_t begin = run.begin; begin < run.end; begin += rows_at_a_time) {
      const sample_range part{begin, std::min(run.end, begin + rows_at_a_time)};
      table_rows read = TROUPE_TRY(table.read(part, std::span(&column, 1)));
      for (table_cell& cell : read.cells.front()) ids.push_back(std::move(cell).value_or(""));
    }
  }
  return ids;
}

}  // namespace troupe
