#pragma once

#include <cstdint>
#include <vector>

#include <troupe/ids.hpp>

namespace troupe {

/// Rows of a table that may be left out.
inline constexpr std::uint64_t rows_left_out_max = 4u << 20;

/// Which rows of a file are samples of a data set: all but those that were left out, in the order of the file. Memory:
/// 8 bytes for each row that is left out.
class kept_rows {
 public:
  explicit kept_rows(std::uint64_t rows) : rows_(rows) {}

  /// Rows come in ascending order, each below the number of rows.
  void leave_out(std::uint64_t row) { left_out_.push_back(row); }

  [[nodiscard]] std::uint64_t size() const noexcept { return rows_ - left_out_.size(); }
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_.size(); }
  /// Where the samples of `range`, which is not empty and lies inside [0, size()), lie in the file.
  [[nodiscard]] std::vector<sample_range> runs(sample_range range) const;

 private:
  std::uint64_t rows_;
  std::vector<std::uint64_t> left_out_;
};

}  // namespace troupe
