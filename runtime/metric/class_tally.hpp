#pragma once

#include <cstdint>
#include <numeric>
#include <span>

#include "runtime/metric/class_counts.hpp"

namespace troupe {

/// What most metrics of classes are functions of: for each class of the data its correct predictions, its predictions
/// and its samples. Predictions of classes that only the model has count for none of these.
struct class_tally {
  std::span<const std::uint64_t> correct;
  std::span<const std::uint64_t> predicted;
  std::span<const std::uint64_t> total;
  /// All of them.
  std::uint64_t samples = 0;

  [[nodiscard]] static std::uint64_t sum(std::span<const std::uint64_t> counts) noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  /// Predictions that are no class of the data.
  [[nodiscard]] std::uint64_t other() const noexcept {
    const std::uint64_t known = sum(predicted);
    return samples > known ? samples - known : 0;
  }
};

/// A metric with a class_tally as the first words of its state, 3 for each class of the data; `more` words follow.
class tally_metric : public class_counts {
 public:
  [[nodiscard]] std::size_t words() const noexcept final { return 3 * classes_ + more_; }

 protected:
  explicit tally_metric(const metric_request& asked, std::size_t more = 0) : class_counts(asked), more_(more) {}

  [[nodiscard]] class_tally tally(std::span<const std::uint64_t> state) const noexcept {
    const auto total = state.subspan(2 * classes_, classes_);
    return {state.first(classes_), state.subspan(classes_, classes_), total, class_tally::sum(total)};
  }
  void count_pair(std::size_t label, std::size_t predicted, std::uint64_t times,
                  std::span<std::uint64_t> state) const override {
    if (predicted == label) state[label] += times;
    if (predicted < classes_) state[classes_ + predicted] += times;
    state[2 * classes_ + label] += times;
  }

 private:
  const std::size_t more_;
};

}  // namespace troupe
