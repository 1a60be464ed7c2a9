#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Rows of cells, aligned: every column as wide as its widest cell, two blanks between. No line is longer than the
/// width it is printed at; the last column is cut with an ellipsis. Cells may have any bytes: they are made
/// printable().
class text_table {
 public:
  enum class align { left, right };

  explicit text_table(std::vector<align> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  std::vector<align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that UTF-8 text takes up, one per code point.
std::size_t text_columns(std::string_view text);
/// "0 Conv2d, 1 ReLU", or of many the first and the last: "0 Conv2d … 7 Linear".
std::string listed(const std::vector<std::string>& names);
/// At most `width` columns, the last one "…" if something was cut; code points stay whole.
std::string shortened(std::string_view text, std::size_t width);

}  // namespace troupe
