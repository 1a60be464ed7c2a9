#include <algorithm>
#include <cmath>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/ranking.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

/// All columns as one.
ranking_column joined(const std::vector<ranking_column>& columns) {
  ranking_column all;
  for (const ranking_column& each : columns) {
    all.scores.insert(all.scores.end(), each.scores.begin(), each.scores.end());
    all.flags.insert(all.flags.end(), each.flags.begin(), each.flags.end());
  }
  return all;
}

class ranked_samples final : public resampled::samples {
 public:
  ranked_samples(const ranking& how, const std::vector<ranking_column>& columns)
      : ranking_(how), size_(columns.empty() ? 0 : columns.front().scores.size()), columns_(columns.size()) {
    if (how.average == "micro") {
      curves_.emplace_back(joined(columns));
    } else {
      for (const ranking_column& each : columns) curves_.emplace_back(each);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] double value(std::span<const std::uint32_t> times) override {
    times_.clear();
    const std::size_t copies = ranking_.average == "micro" ? columns_ : 1;
    for (std::size_t j = 0; j < copies; ++j) times_.insert(times_.end(), times.begin(), times.end());
    if (ranking_.average == "micro") return curves_.front().compute(times_).*ranking_.chosen;
    std::vector<ranking_curve::values> each;
    for (const ranking_curve& one : curves_) each.push_back(one.compute(times_));
    return ranking_.value(each, 0);
  }

 private:
  const ranking& ranking_;
  const std::size_t size_;
  const std::size_t columns_;
  std::vector<ranking_curve> curves_;
  std::vector<double> times_;
};

/// Keeps the scores of all samples.
class exact_ranking final : public metric, public resampled {
 public:
  explicit exact_ranking(const ranking& how) : ranking_(how) {}

  [[nodiscard]] const std::string& name() const noexcept override { return ranking_.name; }
  [[nodiscard]] std::size_t words() const noexcept override { return 0; }
  [[nodiscard]] std::size_t row_bytes() const noexcept override { return sizeof(std::uint64_t); }
  [[nodiscard]] std::size_t kept_bytes() const noexcept override { return row_bytes(); }
  [[nodiscard]] expected<void> judge(const scored_part& part) const override { return ranking_.judge(part); }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const override {}

  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                                            std::vector<std::byte>& rows) const override {
    scored_rows batch = TROUPE_TRY(scored_rows::open(name(), part, ranking_.rules));
    if (batch.columns() > limits::metric_classes_max) {
      return fail(error_code::metric_failed, name(),
                  "expected a model with up to " + std::to_string(limits::metric_classes_max) +
                      " outputs per sample, found " + std::to_string(batch.columns()),
                  "choose accuracy, a topK or log_loss");
    }
    std::vector<double> scores;
    std::vector<std::uint8_t> flags;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ranking_.columns.read(batch.kind(), batch.at(i), scores, flags);
      append_ranking_row(scores, flags, rows);
    }
    return {};
  }
  [[nodiscard]] expected<void> update_and_keep(const scored_part& part, std::span<std::uint64_t> state,
                                               std::vector<std::byte>& rows) const override {
    return update_words(part, state, rows);
  }

  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    const auto columns = read_ranking_rows(total.rows);
    std::vector<ranking_curve::values> each;
    double all = std::nan("");
    if (columns) {
      for (const ranking_column& one : *columns) each.push_back(ranking_curve(one).compute({}));
      if (ranking_.average == "micro") all = ranking_curve(joined(*columns)).compute({}).*ranking_.chosen;
    }
    return ranking_.fields(each, all, columns && !columns->empty() ? columns->front().scores.size() : 0);
  }
  [[nodiscard]] std::unique_ptr<samples> open(std::span<const std::byte> rows) const override {
    const auto columns = read_ranking_rows(rows);
    return columns ? std::make_unique<ranked_samples>(ranking_, *columns) : nullptr;
  }

 private:
  const ranking ranking_;
};

}  // namespace

metric_ptr make_exact_ranking(const ranking& how) {
  return std::make_shared<const exact_ranking>(how);
}

}  // namespace troupe
