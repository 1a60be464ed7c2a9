#include "messages/try.hpp"
#include "runtime/metric/sample_metric.hpp"
#include "runtime/metric/scored_rows.hpp"

namespace troupe {

namespace {

/// It takes of a sample how many of its labels count for the metric, and of how many.
class label_matches_metric final : public sum_metric {
 public:
  explicit label_matches_metric(const metric_request& asked)
      : sum_metric(asked.name, 0, 2),
        is_subset_(base_name(asked.name) == "subset_accuracy"),
        counts_wrong_(base_name(asked.name) == "hamming_loss") {
    if (asked.settings.has("threshold")) threshold_ = asked.settings.real("threshold", 0);
  }

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    return {name(),
            {real_field("value", share(state[0], state[1])), count_field(counts_wrong_ ? "wrong" : "correct", state[0]),
             count_field("total", state[1])},
            counts_wrong_ ? metric_form::plain : metric_form::share};
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    scored_rows batch = TROUPE_TRY(scored_rows::open(name(), part, {.takes_binary = false, .takes_classes = false}));
    if (!threshold_) {
      return fail(error_code::metric_failed, name(), "nothing says above which output a label is predicted",
                  "write " + name() + ":threshold=0 for logits, " + name() + ":threshold=0.5 for probabilities");
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const scored_sample sample = batch.at(i);
      std::size_t right = 0;
      const std::size_t labels = sample.flags.size();
      for (std::size_t j = 0; j < labels; ++j) {
        right += (sample.scores[j] > *threshold_) == (sample.flags[j] != 0) ? 1U : 0U;
      }
      const std::size_t counted = is_subset_ ? std::size_t{right == labels} : counts_wrong_ ? labels - right : right;
      numbers.push_back(static_cast<double>(counted));
      numbers.push_back(is_subset_ ? 1 : static_cast<double>(labels));
    }
    return {};
  }

  const bool is_subset_;
  const bool counts_wrong_;
  std::optional<double> threshold_;
};

}  // namespace

expected<metric_ptr> make_label_matches(const metric_request& asked) {
  return std::make_shared<const label_matches_metric>(asked);
}

}  // namespace troupe
