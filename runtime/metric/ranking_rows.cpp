#include "runtime/metric/ranking_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <troupe/limits.hpp>

namespace troupe {

namespace {

constexpr std::size_t bits_per_word = 64;
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

std::size_t words_of_columns(std::size_t columns) {
  return 1 + columns + (columns + bits_per_word - 1) / bits_per_word;
}

std::uint64_t word_at(std::span<const std::byte> rows, std::size_t index) {
  std::uint64_t word = 0;
  std::memcpy(&word, rows.data() + index * sizeof(word), sizeof(word));
  return word;
}

}  // namespace

void append_ranking_row(std::span<const double> scores, std::span<const std::uint8_t> flags,
                        std::vector<std::byte>& rows) {
  std::vector<std::uint64_t> words(words_of_columns(scores.size()), 0);
  words[0] = scores.size();
  for (std::size_t j = 0; j < scores.size(); ++j) {
    words[1 + j] = std::bit_cast<std::uint64_t>(scores[j]);
    if (flags[j] != 0) words[1 + scores.size() + j / bits_per_word] |= std::uint64_t{1} << j % bits_per_word;
  }
  const auto bytes = std::as_bytes(std::span(words));
  rows.insert(rows.end(), bytes.begin(), bytes.end());
}

std::optional<std::vector<ranking_column>> read_ranking_rows(std::span<const std::byte> rows) {
  const std::size_t words = rows.size() / sizeof(std::uint64_t);
  if (words == 0) return std::vector<ranking_column>{};
  const std::uint64_t columns = word_at(rows, 0);
  if (columns == 0 || columns > limits::metric_classes_max || columns >= words) return std::nullopt;
  const std::size_t stride = words_of_columns(columns);
  if (words % stride != 0) return std::nullopt;
  const std::size_t samples = words / stride;
  for (std::size_t i = 0; i < samples; ++i) {
    if (word_at(rows, i * stride) != columns) return std::nullopt;
  }
  std::vector<ranking_column> read(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    read[j].scores.reserve(samples);
    read[j].flags.reserve(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      const std::size_t sample = i * stride + 1;
      read[j].scores.push_back(std::bit_cast<double>(word_at(rows, sample + j)));
      const std::uint64_t bits = word_at(rows, sample + columns + j / bits_per_word);
      read[j].flags.push_back((bits >> j % bits_per_word) & 1);
    }
  }
  return read;
}

ranking_curve::ranking_curve(const ranking_column& column)
    : has_order_(std::ranges::none_of(column.scores, [](double x) { return std::isnan(x); })),
      order_(column.scores.size()),
      is_tied_(column.scores.size(), 0),
      flags_(column.flags) {
  std::iota(order_.begin(), order_.end(), 0U);
  if (!has_order_) return;
  std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
    return column.scores[a] > column.scores[b] || (column.scores[a] == column.scores[b] && a < b);
  });
  for (std::size_t place = 1; place < order_.size(); ++place) {
    is_tied_[place] = column.scores[order_[place]] == column.scores[order_[place - 1]] ? 1 : 0;
  }
}

ranking_curve::values ranking_curve::compute(std::span<const double> times) const {
  const auto times_of = [&](std::uint32_t sample) { return times.empty() ? 1.0 : times[sample]; };
  double positives = 0;
  double samples = 0;
  for (const std::uint32_t sample : order_) {
    samples += times_of(sample);
    if (flags_[sample] != 0) positives += times_of(sample);
  }
  const double negatives = samples - positives;
  if (!has_order_) return {positives, negatives, no_value, no_value};
  double area = 0;       // twice the pairs of a right sample above a wrong one; a tied pair counts half
  double precision = 0;  // sum over thresholds of precision times the right samples that are new there
  double right = 0;
  double wrong = 0;
  for (std::size_t place = 0; place < order_.size();) {
    double new_right = 0;
    double new_wrong = 0;
    do {
      (flags_[order_[place]] != 0 ? new_right : new_wrong) += times_of(order_[place]);
      ++place;
    } while (place < order_.size() && is_tied_[place] != 0);
    area += new_wrong * (2 * right + new_right);
    right += new_right;
    wrong += new_wrong;
    if (new_right > 0) precision += new_right * (right / (right + wrong));
  }
  return {positives, negatives, positives > 0 && negatives > 0 ? area / (2 * positives * negatives) : no_value,
          positives > 0 ? precision / positives : no_value};
}

}  // namespace troupe
