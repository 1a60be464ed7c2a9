#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/byte_cursor.hpp"
#include "runtime/data/table_marks.hpp"
#include "runtime/data/table_source.hpp"

namespace troupe {

/// One row as it stands in the file.
struct csv_row {
  table_mark begin;
  /// Without quotes.
  std::vector<std::string> cells;
  /// Whether the cell was quoted: a quoted cell without a character is a text, one that is not is empty.
  std::vector<bool> quoted;
};

/// The fix where cells seem to stand between such characters. It holds on a command line and elsewhere.
std::string separator_fix(char separator);

/// Splits a CSV file into rows from a place on, which is the beginning of a row.
class csv_reader {
 public:
  csv_reader(std::string path, byte_region_ptr region, char separator, table_mark from)
      : path_(std::move(path)), cursor_(std::move(region), from.offset), separator_(separator), line_(from.line) {}

  /// Reads the next row into `row`, whose memory is used again, and skips blank lines; false at the end. Errors: E0303
  /// quotes, bytes, cells beyond `cells_max`, length; as byte_region::read.
  [[nodiscard]] expected<bool> next(csv_row& row, std::size_t cells_max);

 private:
  enum class state : std::uint8_t { begin, plain, quoted, behind_quote };

  [[nodiscard]] expected<void> read_row(csv_row& row, std::size_t cells_max);
  [[nodiscard]] expected<void> skip_blank_lines();
  /// Takes LF, CR LF or CR.
  [[nodiscard]] expected<void> end_line();
  /// Bytes from here on that are characters of a cell, whether or not it is quoted.
  [[nodiscard]] std::size_t plain_bytes() const noexcept;
  [[nodiscard]] expected<void> finish(const csv_row& row) const;
  [[nodiscard]] tl::unexpected<error> bad(const csv_row& row, std::string cause, std::string fix) const;

  std::string path_;
  byte_cursor cursor_;
  char separator_;
  std::uint64_t line_;
};

}  // namespace troupe
