#include "messages/check.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

namespace {

/// State: per class of the data its correct predictions, then its predictions, then its samples. A prediction that is
/// no class of the data counts for none, and its sample is missed.
class f1_metric final : public metric {
 public:
  explicit f1_metric(std::uint32_t classes) : classes_(classes) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 3 * classes_; }

  [[nodiscard]] expected<void> update_words(const at::Tensor& outputs, const at::Tensor& labels,
                                            std::span<std::uint64_t> state) const override {
    TROUPE_CHECK(state.size() == words(), "the caller asked words()");
    if (expected<void> fine = check_outputs(name_, outputs, labels); !fine) return fine;
    if (expected<void> fine = check_known_classes(name_, labels, classes_); !fine) return fine;
    const label_column column = labels_of(labels);
    with_rows_of(outputs, [&](const auto& rows) {
      for (std::int64_t i = 0; i < rows.samples; ++i) {
        const auto label = static_cast<std::size_t>(column.at(i));
        const auto predicted = static_cast<std::size_t>(argmax(rows, i));
        if (predicted == label) state[label] += 1;
        if (predicted < classes_) state[classes_ + predicted] += 1;
        state[2 * classes_ + label] += 1;
      }
    });
    return {};
  }

  void merge_words(std::span<std::uint64_t> into, std::span<const std::uint64_t> part) const override {
    merge_counts(into, part);
  }

  [[nodiscard]] metric_value compute_words(std::span<const std::uint64_t> state) const override {
    const auto correct = state.first(classes_);
    const auto predicted = state.subspan(classes_, classes_);
    const auto total = state.last(classes_);
    return {name_,
            {real_field("macro", macro(correct, predicted, total)), real_field("micro", micro(correct, total)),
             real_list("per_class", per_class(correct, predicted, total)), count_list("correct", correct),
             count_list("predicted", predicted), count_list("total", total)}};
  }

 private:
  using counts = std::span<const std::uint64_t>;

  /// 2 TP / (2 TP + FP + FN), and 2 TP + FP + FN is predictions plus samples. 0 for a class that has neither.
  static double f1(std::uint64_t correct, std::uint64_t predicted, std::uint64_t total) noexcept {
    return predicted + total == 0 ? 0.0 : share(2 * correct, predicted + total);
  }

  static std::vector<double> per_class(counts correct, counts predicted, counts total) {
    std::vector<double> all;
    for (std::size_t c = 0; c < correct.size(); ++c) all.push_back(f1(correct[c], predicted[c], total[c]));
    return all;
  }

  /// Over the classes that occur among labels or predictions.
  static double macro(counts correct, counts predicted, counts total) noexcept {
    double sum = 0;
    std::uint64_t seen = 0;
    for (std::size_t c = 0; c < correct.size(); ++c) {
      if (predicted[c] + total[c] == 0) continue;
      sum += f1(correct[c], predicted[c], total[c]);
      ++seen;
    }
    return seen == 0 ? share(0, 0) : sum / static_cast<double>(seen);
  }

  /// With one label and one prediction per sample FP and FN are both the wrong samples.
  static double micro(counts correct, counts total) noexcept {
    std::uint64_t all_correct = 0;
    std::uint64_t all = 0;
    for (std::size_t c = 0; c < correct.size(); ++c) {
      all_correct += correct[c];
      all += total[c];
    }
    return share(all_correct, all);
  }

  std::string name_ = "f1";
  std::size_t classes_;
};

}  // namespace

expected<metric_ptr> make_f1(const metric_request& asked) {
  if (auto fine = check_class_state(asked, 3); !fine) return tl::make_unexpected(fine.error());
  return std::make_shared<const f1_metric>(asked.classes);
}

}  // namespace troupe
