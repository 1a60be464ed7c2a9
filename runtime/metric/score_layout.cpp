#include "runtime/metric/score_layout.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {

std::size_t score_words_of(const std::vector<metric_ptr>& metrics) {
  std::size_t words = odd_words;
  for (const metric_ptr& each : metrics) words += each->words();
  return words;
}

bool has_rows(const std::vector<metric_ptr>& metrics) {
  return std::ranges::any_of(metrics, [](const metric_ptr& each) { return each->row_bytes() > 0; });
}

void append_rows(std::vector<std::uint64_t>& words, std::span<const std::byte> rows) {
  words.push_back(rows.size());
  const std::size_t begin = words.size();
  words.resize(begin + words_for(rows.size()), 0);
  if (!rows.empty()) std::memcpy(words.data() + begin, rows.data(), rows.size());
}

tl::expected<std::vector<std::span<const std::byte>>, std::string> rows_in(const std::vector<metric_ptr>& metrics,
                                                                           std::span<const std::uint64_t> words) {
  const std::size_t fixed = score_words_of(metrics);
  const auto count = [&] { return std::to_string(words.size()) + " words"; };
  if (words.size() < fixed) {
    return tl::make_unexpected("a score of at least " + std::to_string(fixed) + " words was expected, found " +
                               std::to_string(words.size()));
  }
  std::vector<std::span<const std::byte>> rows;
  std::span<const std::uint64_t> rest = words.subspan(fixed);
  for (const metric_ptr& each : metrics) {
    if (each->row_bytes() == 0) continue;
    if (rest.empty()) return tl::make_unexpected("a score of " + count() + " has no rows of " + each->name());
    const std::uint64_t bytes = rest.front();
    rest = rest.subspan(1);
    if (bytes % each->row_bytes() != 0 || words_for(bytes) > rest.size()) {
      return tl::make_unexpected("a score of " + count() + " says that " + each->name() + " has " +
                                 std::to_string(bytes) + " bytes of rows");
    }
    rows.push_back(std::as_bytes(rest).first(bytes));
    rest = rest.subspan(words_for(bytes));
  }
  if (!rest.empty()) {
    return tl::make_unexpected("a score of " + count() + " has " + std::to_string(rest.size()) + " too many");
  }
  return rows;
}

}  // namespace troupe
