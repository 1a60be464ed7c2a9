#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/metric/class_counts.hpp"

namespace troupe {

namespace {

/// State: correct of each class, then samples of each class.
class per_class_metric final : public class_counts {
 public:
  explicit per_class_metric(std::uint32_t classes) : class_counts("per_class_accuracy", classes) {}

  [[nodiscard]] std::size_t words() const noexcept override { return 2 * classes_; }

  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>&) const override {
    const at::Tensor& outputs = *TROUPE_TRY(part.output());
    const at::Tensor& labels = *TROUPE_TRY(part.label());
    TROUPE_CHECK(state.size() == words(), "the caller asked words()");
    TROUPE_TRY(check(outputs, labels));
    for_each_sample(outputs, labels, [&](const auto& rows, std::int64_t i, std::size_t label) {
      state[label] += rank_of(rows, i, static_cast<std::int64_t>(label)) == 0 ? 1U : 0U;
      state[classes_ + label] += 1;
    });
    return {};
  }

  [[nodiscard]] metric_value compute_total(const metric_total& all) const override {
    const std::span state = all.words;
    const auto correct = state.first(classes_);
    const auto total = state.subspan(classes_);
    std::vector<double> shares;
    for (std::size_t c = 0; c < classes_; ++c) shares.push_back(share(correct[c], total[c]));
    return {name_,
            {real_list("value", std::move(shares)), count_list("correct", correct), count_list("total", total)},
            metric_form::per_class};
  }
};

}  // namespace

expected<metric_ptr> make_per_class_accuracy(const metric_request& asked) {
  TROUPE_TRY(check_class_state(asked));
  return std::make_shared<const per_class_metric>(asked.classes);
}

}  // namespace troupe
