#include "runtime/data/kept_rows.hpp"

#include <algorithm>

#include "messages/check.hpp"

namespace troupe {

std::vector<sample_range> kept_rows::runs(sample_range range) const {
  TROUPE_CHECK(range.begin < range.end && range.end <= size(), "only samples of the data set are read");
  // How many rows before left_out_[i] are samples never falls with i.
  std::size_t before = 0;
  for (std::size_t end = left_out_.size(); before < end;) {
    const std::size_t middle = before + (end - before) / 2;
    if (left_out_[middle] - middle <= range.begin) {
      before = middle + 1;
    } else {
      end = middle;
    }
  }
  std::vector<sample_range> found;
  std::uint64_t left = range.size();
  for (std::uint64_t row = range.begin + before; left > 0; ++before) {
    const std::uint64_t end = std::min(before < left_out_.size() ? left_out_[before] : rows_, row + left);
    if (end > row) found.push_back({row, end});
    left -= end - row;
    row = end + 1;
  }
  return found;
}

}  // namespace troupe
