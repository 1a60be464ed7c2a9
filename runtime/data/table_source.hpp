#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/data_option.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// A column of a table that holds no value in some row: an empty cell of CSV, null or no such key in JSON.
using table_cell = std::optional<std::string>;

/// Rows of some columns, column by column: cells[c][r] is row `first` + r of the c-th column that was asked for. A text
/// is what CSV has between separators, without quotes; of JSON a text is its content, a number or true or false its
/// token, and an array or object its JSON text. All are valid UTF-8 without a NUL byte.
struct table_rows {
  std::uint64_t first = 0;
  std::vector<std::vector<table_cell>> cells = {};
  /// The line of the file that each row begins in, from 1.
  std::vector<std::uint64_t> lines = {};
};

/// A file of rows with columns of texts, before anything is made of them: what csv:FILE and jsonl:FILE open, and what
/// data sets of texts are built on. Any number of threads may read.
///
/// Opening reads the file once, keeps the place of every 16th row (16 bytes each, so a byte per row), and checks what
/// can be checked without the meaning of a column: E0303 for bad quotes, JSON, UTF-8, NUL bytes, a row with too few or
/// too many cells, and a row beyond table_row_bytes_max; E0306 for no rows. Errors name "FILE, line L", and the column
/// where there is one.
class table_source {
 public:
  table_source() = default;
  table_source(const table_source&) = delete;
  table_source& operator=(const table_source&) = delete;
  virtual ~table_source() = default;

  [[nodiscard]] virtual const std::string& path() const noexcept = 0;
  /// Rows of data: neither the header of CSV nor blank lines.
  [[nodiscard]] virtual std::uint64_t rows() const noexcept = 0;
  /// CSV: the header's names, or "0", "1", ... without one. JSON: the keys of the first row in its order; keys inside
  /// of an object have the names of both with a dot between, "answers.text".
  [[nodiscard]] virtual const std::vector<std::string>& columns() const noexcept = 0;

  /// Reads and splits `range`, which is not empty and lies inside [0, rows()). Columns are named as columns() has them;
  /// those of JSON may be others, which the first row lacks. Names differ. Errors: E0301 a column that CSV does not
  /// have, with a suggestion; E0303 a JSON row that has a key twice; as byte_region::read.
  [[nodiscard]] virtual expected<table_rows> read(sample_range range, std::span<const std::string> columns) const = 0;
};

using table_source_ptr = std::shared_ptr<const table_source>;

/// Longest row, line breaks inside of quotes included.
inline constexpr std::uint64_t table_row_bytes_max = std::uint64_t{16} << 20;
inline constexpr std::size_t table_columns_max = 65536;
/// A place is kept for each so many rows.
inline constexpr std::uint64_t table_rows_per_mark = 16;

/// Options that say how a file is split: separator and header of CSV.
struct csv_form {
  char separator = ',';
  bool has_header = true;
  /// Else a header of one cell that has another separator is an error.
  bool is_separator_given = false;
};

/// RFC 4180, with LF, CR LF or CR as line end, and a byte order mark at the beginning or none. Blank lines are no rows.
/// Errors: as open_bytes; E0303, E0306 as above; in the header E0303 for two columns of one name, and for one cell with
/// another separator.
expected<table_source_ptr> open_csv_table(const std::string& path, const csv_form& form = {});
/// One JSON object per line. Errors: as open_bytes; E0303 and E0306 as above; objects nested more than 64 deep E0303.
expected<table_source_ptr> open_jsonl_table(const std::string& path);

/// The table that a request for csv:FILE or jsonl:FILE names, with its separator and header.
expected<table_source_ptr> open_csv_table(const data_request& request);
expected<table_source_ptr> open_jsonl_table(const data_request& request);

}  // namespace troupe
