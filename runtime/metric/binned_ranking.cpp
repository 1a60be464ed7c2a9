#include <algorithm>
#include <cmath>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/ranking.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

/// Counts scores in bins. State: the number of columns that samples have; samples; then for each column a count of NaN,
/// and of each bin its wrong samples, then its right ones.
class binned_ranking final : public metric {
 public:
  binned_ranking(const ranking& how, std::size_t columns)
      : ranking_(how), columns_(columns), bins_(ranking_.columns.bins) {}

  [[nodiscard]] const std::string& name() const noexcept override { return ranking_.name; }
  [[nodiscard]] std::size_t words() const noexcept override { return head + columns_ * column_words(); }
  [[nodiscard]] expected<void> judge(const scored_part& part) const override { return ranking_.judge(part); }
  void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const override {
    total[0] = std::max(total[0], part[0]);
    merge_counts(total.subspan(1), part.subspan(1));
  }

  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>&) const override {
    scored_rows batch = TROUPE_TRY(scored_rows::open(name(), part, ranking_.rules));
    std::vector<double> scores;
    std::vector<std::uint8_t> flags;
    ranking_.columns.read(batch.kind(), batch.at(0), scores, flags);
    if (scores.size() > columns_) {
      return fail(error_code::metric_failed, name(),
                  "its bins are for " + std::to_string(columns_) + " labels of a sample, found " +
                      std::to_string(scores.size()),
                  "write " + name_for(scores.size()));
    }
    state[0] = scores.size();
    state[1] += batch.size();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (i > 0) ranking_.columns.read(batch.kind(), batch.at(i), scores, flags);
      for (std::size_t j = 0; j < scores.size(); ++j) state[place_of(j, scores[j], flags[j])] += 1;
    }
    return {};
  }

  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    std::vector<ranking_curve::values> each;
    std::vector<std::uint64_t> sums(column_words(), 0);
    for (std::size_t j = 0; j < std::min<std::size_t>(total.words[0], columns_); ++j) {
      const auto column = total.words.subspan(head + j * column_words(), column_words());
      each.push_back(curve_of(column));
      merge_counts(sums, column);
    }
    return ranking_.fields(each, curve_of(sums).*ranking_.chosen, total.words[1]);
  }

 private:
  static constexpr std::size_t head = 2;

  /// The name with so many labels, and all other options as they are.
  [[nodiscard]] std::string name_for(std::size_t labels) const {
    constexpr std::string_view option = ":labels=";
    std::string made = name();
    if (const std::size_t at = made.find(option); at != std::string::npos) {
      made.erase(at, made.find(':', at + 1) - at);
    }
    return made.append(option).append(std::to_string(labels));
  }

  [[nodiscard]] std::size_t column_words() const noexcept { return 1 + 2 * bins_; }

  [[nodiscard]] std::size_t place_of(std::size_t column, double score, std::uint8_t flag) const noexcept {
    const std::size_t begin = head + column * column_words();
    if (!(score >= 0 && score <= 1)) return begin;
    const auto bin = std::min(bins_ - 1, static_cast<std::size_t>(score * static_cast<double>(bins_)));
    return begin + 1 + (flag != 0 ? bins_ : 0) + bin;
  }

  /// Each bin as two samples of one score that count as often as it has wrong and right ones.
  [[nodiscard]] ranking_curve::values curve_of(std::span<const std::uint64_t> column) const {
    ranking_column all;
    std::vector<double> times;
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      for (const std::uint8_t flag : {std::uint8_t{0}, std::uint8_t{1}}) {
        all.scores.push_back(column[0] > 0 ? std::nan("") : static_cast<double>(bin));
        all.flags.push_back(flag);
        times.push_back(static_cast<double>(column[1 + flag * bins_ + bin]));
      }
    }
    return ranking_curve(all).compute(times);
  }

  const ranking ranking_;
  const std::size_t columns_;
  const std::size_t bins_;
};

}  // namespace

metric_ptr make_binned_ranking(const ranking& how, std::size_t columns) {
  return std::make_shared<const binned_ranking>(how, columns);
}

}  // namespace troupe
