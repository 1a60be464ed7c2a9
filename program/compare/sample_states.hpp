#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <troupe/metric.hpp>

namespace troupe {

/// What a metric makes of each sample alone: the same metric can then be computed of any choice of samples. A row has
/// the words of the metric, how many rows of its own it made (0 or 1), and that row. Where the metric cannot say
/// anything about one sample, or makes several rows, the number is `no_state`.
inline constexpr std::uint64_t no_state = ~std::uint64_t{0};

/// Words of such a row.
[[nodiscard]] std::size_t sample_state_words(const metric& inner) noexcept;

/// Keeps these rows. Its value has them in one list of counts, `words`, in the order of the samples.
[[nodiscard]] metric_ptr make_sample_states(metric_ptr inner);

/// The states of all samples for one metric and one model.
class sample_states {
 public:
  sample_states(metric_ptr inner, std::span<const std::uint64_t> words);

  [[nodiscard]] std::size_t size() const noexcept { return words_.size() / width_; }
  /// False where a sample has no state.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
  /// The metric's first number, of these samples in this order; a sample may come several times.
  [[nodiscard]] double value_of(std::span<const std::uint64_t> samples) const;

 private:
  const metric_ptr inner_;
  const std::size_t width_;
  const std::span<const std::uint64_t> words_;
  bool is_complete_ = true;
};

}  // namespace troupe
