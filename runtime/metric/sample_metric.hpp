#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <troupe/metric.hpp>

namespace troupe {

/// A metric whose value can be computed of any choice of its samples: one that may have a confidence interval.
class resampled {
 public:
  virtual ~resampled() = default;

  /// The samples of a call, as what the metric keeps of each.
  class samples {
   public:
    virtual ~samples() = default;
    [[nodiscard]] virtual std::size_t size() const noexcept = 0;
    /// The first field of the result where sample i counts times[i] times.
    [[nodiscard]] virtual double value(std::span<const std::uint32_t> times) = 0;
  };

  /// The rows are a multiple of so many bytes.
  [[nodiscard]] virtual std::size_t kept_bytes() const noexcept = 0;
  /// metric::update_words, and appends what it keeps of each sample.
  [[nodiscard]] virtual expected<void> update_and_keep(const scored_part& part, std::span<std::uint64_t> state,
                                                       std::vector<std::byte>& rows) const = 0;
  /// `rows` outlives the answer and may have any values.
  [[nodiscard]] virtual std::unique_ptr<samples> open(std::span<const std::byte> rows) const = 0;
};

/// A metric that takes a few numbers of each sample and counts them into its words.
class sample_metric : public metric, public resampled {
 public:
  [[nodiscard]] const std::string& name() const noexcept final { return name_; }
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>& rows) const final;
  [[nodiscard]] metric_value compute_total(const metric_total& total) const final { return compute(total.words); }

  [[nodiscard]] std::size_t kept_bytes() const noexcept final { return width() * sizeof(double); }
  [[nodiscard]] expected<void> update_and_keep(const scored_part& part, std::span<std::uint64_t> state,
                                               std::vector<std::byte>& rows) const final;
  [[nodiscard]] std::unique_ptr<samples> open(std::span<const std::byte> rows) const final;

  /// Numbers of a sample; constant.
  [[nodiscard]] virtual std::size_t width() const noexcept = 0;
  /// Adds one sample, with any values, so many times.
  virtual void count(const double* sample, std::uint64_t times, std::span<std::uint64_t> state) const = 0;
  [[nodiscard]] virtual metric_value compute(std::span<const std::uint64_t> state) const = 0;

 protected:
  explicit sample_metric(std::string name) : name_(std::move(name)) {}

  /// Appends width() numbers for each sample of the micro-batch. Errors as metric::update_words.
  [[nodiscard]] virtual expected<void> collect(const scored_part& part, std::vector<double>& numbers) const = 0;

 private:
  std::string name_;
};

/// A sample metric whose state is the sum of its samples: `reals` doubles, then `counts` whole numbers.
class sum_metric : public sample_metric {
 public:
  [[nodiscard]] std::size_t words() const noexcept final { return reals_ + counts_; }
  [[nodiscard]] std::size_t width() const noexcept final { return reals_ + counts_; }
  void count(const double* sample, std::uint64_t times, std::span<std::uint64_t> state) const final;
  void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const final;

 protected:
  sum_metric(std::string name, std::size_t reals, std::size_t counts)
      : sample_metric(std::move(name)), reals_(reals), counts_(counts) {}

 private:
  const std::size_t reals_;
  const std::size_t counts_;
};

/// The fields mean, sum and count of a mean over `count` samples or elements; NaN over none.
metric_value mean_value(const std::string& name, double sum, std::uint64_t count);
/// A whole number that came as a double; 0 for one that is negative, too large or NaN.
std::uint64_t as_count(double number) noexcept;
double as_real(std::uint64_t word) noexcept;
/// word += added
void add_real(std::uint64_t& word, double added) noexcept;

/// `one` with a confidence interval of its first field (docs/metrics.md). E0103 where `one` has none.
[[nodiscard]] expected<metric_ptr> with_interval(metric_ptr one, const interval_options& asked);

}  // namespace troupe
