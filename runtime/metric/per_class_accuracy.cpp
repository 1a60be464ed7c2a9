#include "messages/try.hpp"
#include "runtime/metric/class_counts.hpp"

namespace troupe {

namespace {

/// State: correct of each class, then samples of each class.
class per_class_metric final : public class_counts {
 public:
  explicit per_class_metric(const metric_request& asked) : class_counts(asked) {}

  [[nodiscard]] std::size_t words() const noexcept override { return 2 * classes_; }

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const auto correct = state.first(classes_);
    const auto total = state.subspan(classes_);
    std::vector<double> shares;
    for (std::size_t c = 0; c < classes_; ++c) shares.push_back(share(correct[c], total[c]));
    return {name(),
            {real_list("value", std::move(shares)), count_list("correct", correct), count_list("total", total)},
            metric_form::per_class};
  }

 private:
  void count_pair(std::size_t label, std::size_t predicted, std::uint64_t times,
                  std::span<std::uint64_t> state) const override {
    if (predicted == label) state[label] += times;
    state[classes_ + label] += times;
  }
};

}  // namespace

expected<metric_ptr> make_per_class_accuracy(const metric_request& asked) {
  TROUPE_TRY(check_class_state(asked));
  return std::make_shared<const per_class_metric>(asked);
}

}  // namespace troupe
