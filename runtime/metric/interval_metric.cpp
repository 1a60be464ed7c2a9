#include <algorithm>
#include <cmath>

#include "messages/seeded_draw.hpp"
#include "messages/try.hpp"
#include "runtime/metric/quantile.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

/// How often each of the samples is drawn, in as many draws as there are samples.
void draw(std::uint64_t seed, std::vector<std::uint32_t>& times) noexcept {
  std::fill(times.begin(), times.end(), 0);
  const std::uint64_t samples = times.size();
  seeded_draw drawn(seed);
  for (std::uint64_t i = 0; i < samples; ++i) ++times[((drawn.next() >> 32) * samples) >> 32];
}

/// Keeps what its metric takes of each sample, also where that metric needs sums alone.
class interval_metric final : public metric {
 public:
  interval_metric(metric_ptr one, const resampled& open, interval_options asked)
      : one_(std::move(one)), resampled_(open), asked_(asked) {}

  [[nodiscard]] const std::string& name() const noexcept override { return one_->name(); }
  [[nodiscard]] std::size_t words() const noexcept override { return one_->words(); }
  [[nodiscard]] std::size_t row_bytes() const noexcept override { return resampled_.kept_bytes(); }
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>& rows) const override {
    return resampled_.update_and_keep(part, state, rows);
  }
  void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const override {
    one_->merge_words(total, part);
  }
  [[nodiscard]] expected<void> judge(const scored_part& part) const override { return one_->judge(part); }

  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    metric_value value = one_->compute_total(total);
    const std::vector<double> values = values_of(total.rows);
    const double tail = (1 - asked_.confidence) / 2;
    value.fields.push_back(real_field("low", quantile(values, tail)));
    value.fields.push_back(real_field("high", quantile(values, 1 - tail)));
    value.fields.push_back(real_field("confidence", asked_.confidence));
    value.fields.push_back(count_field("resamples", values.size()));
    return value;
  }

 private:
  /// The values of all resamples in which it is a number, ascending.
  [[nodiscard]] std::vector<double> values_of(std::span<const std::byte> rows) const {
    const auto samples = resampled_.open(rows);
    std::vector<double> values;
    if (samples == nullptr || samples->size() == 0) return values;
    std::vector<std::uint32_t> times(samples->size());
    seeded_draw seeds(asked_.seed);
    for (std::uint32_t resample = 0; resample < asked_.resamples; ++resample) {
      draw(seeds.next(), times);
      const double value = samples->value(times);
      if (!std::isnan(value)) values.push_back(value);
    }
    std::sort(values.begin(), values.end());
    return values;
  }

  const metric_ptr one_;
  const resampled& resampled_;
  const interval_options asked_;
};

}  // namespace

expected<metric_ptr> with_interval(metric_ptr one, const interval_options& asked) {
  const auto* open = dynamic_cast<const resampled*>(one.get());
  const bool has_value =
      open != nullptr && !one->compute_total({std::vector<std::uint64_t>(one->words()), {}}).fields.front().is_list;
  if (has_value) return std::make_shared<const interval_metric>(std::move(one), *open, asked);
  const bool is_by_choice = one->name().find(":average=none") != std::string::npos;
  return fail(error_code::value_out_of_range, "metric " + one->name(),
              open == nullptr ? "it has no confidence interval" : "it has a list of values, and an interval is for one",
              is_by_choice ? "choose another average, or leave the interval out"
                           : "leave it out, or give intervals to other metrics, such as accuracy:confidence=0.95");
}

}  // namespace troupe
