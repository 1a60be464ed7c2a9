#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_map>

#include "messages/try.hpp"
#include "runtime/data/csv_reader.hpp"
#include "runtime/data/table_marks.hpp"
#include "runtime/data/table_options.hpp"
#include "runtime/data/table_source.hpp"
#include "runtime/data/table_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

class csv_table final : public table_source {
 public:
  csv_table(std::string path, byte_region_ptr region, const csv_form& form)
      : path_(std::move(path)), region_(std::move(region)), form_(form) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t rows() const noexcept override { return marks_.rows(); }
  [[nodiscard]] const std::vector<std::string>& columns() const noexcept override { return columns_; }

  expected<void> scan();
  [[nodiscard]] expected<table_rows> read(sample_range range, std::span<const std::string> columns) const override;

 private:
  [[nodiscard]] expected<std::uint64_t> behind_byte_order_mark() const;
  expected<void> take_header(const csv_row& header);
  [[nodiscard]] expected<void> check_cells(const csv_row& row) const;
  [[nodiscard]] expected<std::vector<std::size_t>> places_of(std::span<const std::string> columns) const;

  std::string path_;
  byte_region_ptr region_;
  csv_form form_;
  std::vector<std::string> columns_;
  /// By name, which columns_ keeps; of columns without one the first.
  std::unordered_map<std::string_view, std::size_t> places_;
  table_marks marks_;
};

expected<std::uint64_t> csv_table::behind_byte_order_mark() const {
  constexpr std::array<std::uint8_t, 3> mark{0xef, 0xbb, 0xbf};
  std::array<std::uint8_t, 3> begin{};
  if (region_->size() < mark.size()) return 0;
  TROUPE_TRY(region_->read(0, begin));
  return begin == mark ? mark.size() : 0;
}

expected<void> csv_table::take_header(const csv_row& header) {
  const std::size_t other = header.cells.size() == 1 ? header.cells.front().find_first_of(";\t|") : std::string::npos;
  if (other != std::string::npos && !form_.is_separator_given) {
    return fail(error_code::data_bad_format, table_place(path_, header.begin.line),
                "there is one column alone, \"" + shown_cell(header.cells.front()) + "\"",
                separator_fix(header.cells.front()[other]));
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < header.cells.size(); ++i) {
    const std::string& name = header.cells[i];
    const std::string place = table_place(path_, header.begin.line, std::to_string(i + 1));
    if (!name.empty() && !seen.insert(name).second) {
      return fail(error_code::data_bad_format, place, "a second column is called \"" + shown_cell(name) + "\"",
                  "give each column a name of its own, or say that there is no header, header=no");
    }
    columns_.push_back(name);
  }
  return {};
}

expected<void> csv_table::check_cells(const csv_row& row) const {
  if (row.cells.size() == columns_.size()) return {};
  return fail(error_code::data_bad_format, table_place(path_, row.begin.line),
              "the row has " + std::to_string(row.cells.size()) + " cells, and the first row has " +
                  std::to_string(columns_.size()),
              "put cells that have a separator in double quotes, or name the separator, as in separator=\";\"");
}

expected<void> csv_table::scan() {
  csv_reader reader(path_, region_, form_.separator, {TROUPE_TRY(behind_byte_order_mark()), 1});
  csv_row row;
  while (TROUPE_TRY(reader.next(row, columns_.empty() ? table_columns_max : columns_.size()))) {
    if (columns_.empty() && form_.has_header) {
      TROUPE_TRY(take_header(row));
      continue;
    }
    for (std::size_t i = 0; columns_.size() < row.cells.size() && marks_.rows() == 0; ++i) {
      columns_.push_back(std::to_string(i));
    }
    TROUPE_TRY(check_cells(row));
    marks_.add(row.begin);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) places_.emplace(columns_[i], i);
  if (marks_.rows() > 0) return {};
  return fail(
      error_code::data_empty, path_, columns_.empty() ? "has no row" : "has a header and no row behind it",
      form_.has_header && !columns_.empty() ? "add rows, or say that the first row is data, header=no" : "add rows");
}

expected<std::vector<std::size_t>> csv_table::places_of(std::span<const std::string> columns) const {
  std::vector<std::size_t> places;
  for (const std::string& name : columns) {
    const auto found = places_.find(name);
    if (found == places_.end()) {
      return fail(error_code::data_missing, path_, "there is no column \"" + shown_cell(name) + "\"",
                  suggest_fix(name, columns_));
    }
    places.push_back(found->second);
  }
  return places;
}

expected<table_rows> csv_table::read(sample_range range, std::span<const std::string> columns) const {
  const std::vector<std::size_t> places = TROUPE_TRY(places_of(columns));
  table_rows made{.first = range.begin, .cells = std::vector<std::vector<table_cell>>(columns.size())};
  csv_reader reader(path_, region_, form_.separator, marks_.before(range.begin));
  csv_row row;
  for (std::uint64_t at = range.begin / table_rows_per_mark * table_rows_per_mark; at < range.end; ++at) {
    const bool is_there = TROUPE_TRY(reader.next(row, columns_.size()));
    if (!is_there) break;  // a file that changed is an error of the region
    if (at < range.begin) continue;
    TROUPE_TRY(check_cells(row));
    made.lines.push_back(row.begin.line);
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::string& cell = row.cells[places[i]];
      const bool is_empty = cell.empty() && !row.quoted[places[i]];
      made.cells[i].push_back(is_empty ? table_cell() : table_cell(cell));
    }
  }
  return made;
}

}  // namespace

expected<table_source_ptr> open_csv_table(const std::string& path, const csv_form& form) {
  auto made = std::make_shared<csv_table>(path, TROUPE_TRY(open_table_bytes(path)), form);
  TROUPE_TRY(made->scan());
  return made;
}

expected<table_source_ptr> open_csv_table(const data_request& request) {
  return open_csv_table(request.path(), TROUPE_TRY(read_csv_form(request)));
}

}  // namespace troupe
