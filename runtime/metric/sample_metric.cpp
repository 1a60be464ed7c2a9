#include "runtime/metric/sample_metric.hpp"

#include <bit>
#include <cstring>

#include "messages/try.hpp"

namespace troupe {

namespace {

class counted_samples final : public resampled::samples {
 public:
  counted_samples(const sample_metric& one, std::span<const std::byte> rows)
      : metric_(one), width_(one.width()), numbers_(rows.size() / sizeof(double)), state_(one.words(), 0) {
    if (!numbers_.empty()) std::memcpy(numbers_.data(), rows.data(), numbers_.size() * sizeof(double));
  }

  [[nodiscard]] std::size_t size() const noexcept override { return numbers_.size() / width_; }
  [[nodiscard]] double value(std::span<const std::uint32_t> times) override {
    std::fill(state_.begin(), state_.end(), 0);
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] > 0) metric_.count(numbers_.data() + i * width_, times[i], state_);
    }
    return metric_.compute(state_).value();
  }

 private:
  const sample_metric& metric_;
  const std::size_t width_;
  std::vector<double> numbers_;
  std::vector<std::uint64_t> state_;
};

}  // namespace

expected<void> sample_metric::update_words(const scored_part& part, std::span<std::uint64_t> state,
                                           std::vector<std::byte>&) const {
  std::vector<double> numbers;
  TROUPE_TRY(collect(part, numbers));
  for (std::size_t at = 0; at + width() <= numbers.size(); at += width()) count(numbers.data() + at, 1, state);
  return {};
}

expected<void> sample_metric::update_and_keep(const scored_part& part, std::span<std::uint64_t> state,
                                              std::vector<std::byte>& rows) const {
  std::vector<double> numbers;
  TROUPE_TRY(collect(part, numbers));
  for (std::size_t at = 0; at + width() <= numbers.size(); at += width()) count(numbers.data() + at, 1, state);
  const auto bytes = std::as_bytes(std::span(numbers));
  rows.insert(rows.end(), bytes.begin(), bytes.end());
  return {};
}

std::unique_ptr<resampled::samples> sample_metric::open(std::span<const std::byte> rows) const {
  return std::make_unique<counted_samples>(*this, rows);
}

void sum_metric::count(const double* sample, std::uint64_t times, std::span<std::uint64_t> state) const {
  for (std::size_t i = 0; i < reals_; ++i) add_real(state[i], static_cast<double>(times) * sample[i]);
  for (std::size_t i = reals_; i < words(); ++i) state[i] += times * as_count(sample[i]);
}

void sum_metric::merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const {
  for (std::size_t i = 0; i < reals_; ++i) add_real(total[i], as_real(part[i]));
  for (std::size_t i = reals_; i < words(); ++i) total[i] += part[i];
}

metric_value mean_value(const std::string& name, double sum, std::uint64_t count) {
  return {name,
          {real_field("mean", sum / static_cast<double>(count)), real_field("sum", sum), count_field("count", count)},
          metric_form::mean};
}

std::uint64_t as_count(double number) noexcept {
  constexpr double count_max = 9007199254740992.0;  // 2^53
  return number >= 0 && number <= count_max ? static_cast<std::uint64_t>(number) : 0;
}

double as_real(std::uint64_t word) noexcept {
  return std::bit_cast<double>(word);
}

void add_real(std::uint64_t& word, double added) noexcept {
  word = std::bit_cast<std::uint64_t>(std::bit_cast<double>(word) + added);
}

}  // namespace troupe
