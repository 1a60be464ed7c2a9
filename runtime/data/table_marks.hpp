#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/table_source.hpp"

namespace troupe {

/// A place between two rows.
struct table_mark {
  std::uint64_t offset = 0;
  /// From 1.
  std::uint64_t line = 1;
};

/// Where every 16th row begins.
class table_marks {
 public:
  /// Rows come in order.
  void add(table_mark row) {
    if (rows_++ % table_rows_per_mark == 0) marks_.push_back(row);
  }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  /// The last mark that is not behind `row`.
  [[nodiscard]] table_mark before(std::uint64_t row) const { return marks_[row / table_rows_per_mark]; }

 private:
  std::vector<table_mark> marks_;
  std::uint64_t rows_ = 0;
};

}  // namespace troupe
