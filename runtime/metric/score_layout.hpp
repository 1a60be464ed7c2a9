#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/metric.hpp>

namespace troupe {

/// The words of a score of metrics (score::words):
///   the states of all metrics, one after another;
///   odd_samples: the number of samples with NaN among the outputs, and of those with an infinity;
///   for each metric that keeps rows: their bytes, and these bytes, with zeros up to a whole word.
inline constexpr std::size_t odd_words = 2;

/// Bytes take so many whole words.
constexpr std::size_t words_for(std::uint64_t bytes) noexcept {
  return bytes / sizeof(std::uint64_t) + (bytes % sizeof(std::uint64_t) == 0 ? 0 : 1);
}

/// The words before the rows: as many in every score that has samples.
std::size_t score_words_of(const std::vector<metric_ptr>& metrics);
bool has_rows(const std::vector<metric_ptr>& metrics);

/// Appends the rows of one metric.
void append_rows(std::vector<std::uint64_t>& words, std::span<const std::byte> rows);

/// The rows of each metric that keeps some, in their order. They live as long as `words`, which an untrusted peer may
/// have sent: the text names the first contradiction.
[[nodiscard]] tl::expected<std::vector<std::span<const std::byte>>, std::string> rows_in(
    const std::vector<metric_ptr>& metrics, std::span<const std::uint64_t> words);

}  // namespace troupe
