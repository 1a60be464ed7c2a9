#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/metric/json_number.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/sentence_pairs.hpp"

namespace troupe {

namespace {

using number_list = std::vector<double>;

/// NaN for fewer than two pairs, and where all numbers of one side are equal.
double correlation_of(const number_list& x, const number_list& y) {
  if (x.size() < 2) return std::nan("");
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double squares_x = 0;
  double squares_y = 0;
  double products = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares_x += (x[i] - mean_x) * (x[i] - mean_x);
    squares_y += (y[i] - mean_y) * (y[i] - mean_y);
    products += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return squares_x > 0 && squares_y > 0 ? products / std::sqrt(squares_x) / std::sqrt(squares_y) : std::nan("");
}

/// Equal numbers share the mean of their ranks. Empty where one is NaN.
number_list ranks_of(const number_list& numbers) {
  if (std::ranges::any_of(numbers, [](double each) { return std::isnan(each); })) return {};
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(numbers[i], i); });
  number_list ranks(numbers.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

class sentence_similarity_metric final : public metric {
 public:
  explicit sentence_similarity_metric(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 0; }
  [[nodiscard]] std::size_t row_bytes() const noexcept override { return sizeof(std::uint64_t); }
  [[nodiscard]] bool has_predictions() const noexcept override { return true; }
  [[nodiscard]] std::vector<prediction_document> predictions(const metric_total& total, bool) const override {
    std::string lines;
    for (const sentence_pair& each : sentence_pairs().add(total.rows)) {
      lines.append(lines.empty() ? "{\"pair\": " : ",\n{\"pair\": ").append(std::to_string(each.pair));
      if (!std::isnan(each.score)) lines.append(", \"score\": ").append(json_number(static_cast<float>(each.score)));
      lines.append(", \"cosine\": ").append(json_number(each.cosine)).append("}");
    }
    return {{.suffix = "", .content = "[\n" + lines + "\n]\n"}};
  }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const override {}
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                                            std::vector<std::byte>& rows) const override {
    return append_embeddings(name_, part, rows);
  }

  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    number_list cosines;
    number_list scores;
    for (const sentence_pair& each : sentence_pairs().add(total.rows)) {
      cosines.push_back(each.cosine);
      scores.push_back(each.score);
    }
    const double mean = std::accumulate(cosines.begin(), cosines.end(), 0.0) / static_cast<double>(cosines.size());
    const number_list ranks = ranks_of(cosines);
    const number_list score_ranks = ranks_of(scores);
    const bool have_ranks = ranks.size() == cosines.size() && score_ranks.size() == scores.size();
    return {name_,
            {real_field("pearson", correlation_of(cosines, scores)),
             real_field("spearman", have_ranks ? correlation_of(ranks, score_ranks) : std::nan("")),
             real_field("mean_cosine", mean), count_field("count", cosines.size())}};
  }

 private:
  std::string name_;
};

}  // namespace

expected<metric_ptr> make_sentence_similarity(const metric_request& asked) {
  return std::make_shared<const sentence_similarity_metric>(asked.name);
}

}  // namespace troupe
