#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "messages/try.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/paired_numbers.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

/// State: moments of outputs (x) and labels (y), and the sum of the squares of their differences.
struct pair_state {
  co_moments moments;
  double squared_errors = 0;
};
constexpr std::size_t pair_words = sizeof(pair_state) / sizeof(std::uint64_t);
using pair_array = std::array<std::uint64_t, pair_words>;

pair_state pairs_in(std::span<const std::uint64_t> words) {
  pair_array copy{};
  std::copy_n(words.begin(), pair_words, copy.begin());
  return std::bit_cast<pair_state>(copy);
}

void store_pairs(const pair_state& state, std::span<std::uint64_t> words) {
  std::ranges::copy(std::bit_cast<pair_array>(state), words.begin());
}

class moments_metric : public sample_metric {
 public:
  explicit moments_metric(const metric_request& asked) : sample_metric(asked.name) {}

  [[nodiscard]] std::size_t words() const noexcept final { return pair_words; }
  [[nodiscard]] std::size_t width() const noexcept final { return 2; }
  void count(const double* sample, std::uint64_t times, std::span<std::uint64_t> state) const final {
    pair_state pairs = pairs_in(state);
    const double difference = sample[0] - sample[1];
    pairs.moments.add(sample[0], sample[1], static_cast<double>(times));
    pairs.squared_errors += static_cast<double>(times) * difference * difference;
    store_pairs(pairs, state);
  }
  void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const final {
    pair_state pairs = pairs_in(total);
    const pair_state more = pairs_in(part);
    pairs.moments.add(more.moments);
    pairs.squared_errors += more.squared_errors;
    store_pairs(pairs, total);
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const final {
    return append_pairs(name(), part, numbers);
  }
};

class r2_metric final : public moments_metric {
 public:
  using moments_metric::moments_metric;

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const pair_state pairs = pairs_in(state);
    const double spread = pairs.moments.squares_y;
    double value = std::nan("");
    if (pairs.moments.count >= 2) {
      value = spread != 0 ? 1 - pairs.squared_errors / spread : pairs.squared_errors == 0 ? 1.0 : 0.0;
      if (std::isnan(pairs.squared_errors)) value = std::nan("");
    }
    return {name(), {real_field("value", value), count_field("count", as_count(pairs.moments.count))}};
  }
};

class pearson_metric final : public moments_metric {
 public:
  using moments_metric::moments_metric;

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const co_moments moments = pairs_in(state).moments;
    return {name(), {real_field("value", moments.correlation()), count_field("count", as_count(moments.count))}};
  }
};

/// Keeps the output and the label of each sample.
class spearman_metric final : public metric, public resampled {
 public:
  explicit spearman_metric(const metric_request& asked) : name_(asked.name) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 0; }
  [[nodiscard]] std::size_t row_bytes() const noexcept override { return 2 * sizeof(double); }
  [[nodiscard]] std::size_t kept_bytes() const noexcept override { return row_bytes(); }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const override {}
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                                            std::vector<std::byte>& rows) const override {
    std::vector<double> numbers;
    TROUPE_TRY(append_pairs(name_, part, numbers));
    const auto bytes = std::as_bytes(std::span(numbers));
    rows.insert(rows.end(), bytes.begin(), bytes.end());
    return {};
  }
  [[nodiscard]] expected<void> update_and_keep(const scored_part& part, std::span<std::uint64_t> state,
                                               std::vector<std::byte>& rows) const override {
    return update_words(part, state, rows);
  }
  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    const auto pairs = open(total.rows);
    const double value = pairs->value(std::vector<std::uint32_t>(pairs->size(), 1));
    return {name_, {real_field("value", value), count_field("count", pairs->size())}};
  }
  [[nodiscard]] std::unique_ptr<samples> open(std::span<const std::byte> rows) const override {
    std::vector<double> numbers(rows.size() / row_bytes() * 2);
    if (!numbers.empty()) std::memcpy(numbers.data(), rows.data(), numbers.size() * sizeof(double));
    return rank_pairs(numbers);
  }

 private:
  const std::string name_;
};

}  // namespace

expected<metric_ptr> make_r2(const metric_request& asked) {
  return std::make_shared<const r2_metric>(asked);
}
expected<metric_ptr> make_pearson(const metric_request& asked) {
  return std::make_shared<const pearson_metric>(asked);
}
expected<metric_ptr> make_spearman(const metric_request& asked) {
  return std::make_shared<const spearman_metric>(asked);
}

}  // namespace troupe
