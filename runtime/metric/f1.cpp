#include <bit>
#include <numeric>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/class_counts.hpp"

namespace troupe {

namespace {

constexpr std::size_t bits_per_word = 64;
constexpr std::size_t outputs_max = limits::metric_classes_max;
static_assert(3 * outputs_max + outputs_max / bits_per_word + 2 <= limits::score_words_max,
              "a state of the largest size fits a score");

/// State: per class of the data its correct predictions, then its predictions, then its samples; then a bit for each
/// possible output of a model behind these classes, set where it was predicted. Such a prediction counts for no class
/// of the data, and its sample is missed.
class f1_metric final : public class_counts {
 public:
  explicit f1_metric(std::uint32_t classes)
      : class_counts("f1", classes), bit_words_((outputs_max - classes_ + bits_per_word - 1) / bits_per_word) {}

  [[nodiscard]] std::size_t words() const noexcept override { return counts() + bit_words_; }

  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>&) const override {
    const at::Tensor& outputs = *TROUPE_TRY(part.output());
    const at::Tensor& labels = *TROUPE_TRY(part.label());
    TROUPE_CHECK(state.size() == words(), "the caller asked words()");
    TROUPE_TRY(check(outputs, labels));
    if (static_cast<std::size_t>(outputs.size(1)) > outputs_max) {
      return fail(error_code::metric_failed, name_,
                  "expected a model with up to " + std::to_string(outputs_max) + " outputs per sample, found " +
                      std::to_string(outputs.size(1)),
                  "choose per_class_accuracy, accuracy or a topK");
    }
    for_each_sample(outputs, labels, [&](const auto& rows, std::int64_t i, std::size_t label) {
      const auto predicted = static_cast<std::size_t>(argmax(rows, i));
      if (predicted == label) state[label] += 1;
      count_prediction(predicted, state);
      state[2 * classes_ + label] += 1;
    });
    return {};
  }

  void merge_words(std::span<std::uint64_t> into, std::span<const std::uint64_t> part) const override {
    merge_counts(into.first(counts()), part.first(counts()));
    for (std::size_t word = counts(); word < words(); ++word) into[word] |= part[word];
  }

  [[nodiscard]] metric_value compute_total(const metric_total& all) const override {
    const std::span state = all.words;
    const auto correct = state.first(classes_);
    const auto predicted = state.subspan(classes_, classes_);
    const auto total = state.subspan(2 * classes_, classes_);
    std::uint64_t other_classes = 0;
    for (const std::uint64_t bits : state.subspan(counts())) {
      other_classes += static_cast<std::uint64_t>(std::popcount(bits));
    }
    return {name_,
            {real_field("macro", macro(correct, predicted, total, other_classes)),
             real_field("micro", share(sum_of(correct), sum_of(total))),
             real_list("per_class", per_class(correct, predicted, total)), count_list("correct", correct),
             count_list("predicted", predicted), count_list("total", total),
             count_field("other", sum_of(total) - sum_of(predicted)), count_field("other_classes", other_classes)},
            metric_form::per_class};
  }

 private:
  using span_of_counts = std::span<const std::uint64_t>;

  [[nodiscard]] std::size_t counts() const noexcept { return 3 * classes_; }

  void count_prediction(std::size_t predicted, std::span<std::uint64_t> state) const noexcept {
    if (predicted < classes_) {
      state[classes_ + predicted] += 1;
    } else {
      const std::size_t bit = predicted - classes_;
      state[counts() + bit / bits_per_word] |= std::uint64_t{1} << bit % bits_per_word;
    }
  }

  /// 2 TP / (2 TP + FP + FN), and 2 TP + FP + FN is predictions plus samples. 0 for a class that has neither.
  static double f1(std::uint64_t correct, std::uint64_t predicted, std::uint64_t total) noexcept {
    return predicted + total == 0 ? 0.0 : share(2 * correct, predicted + total);
  }

  static std::vector<double> per_class(span_of_counts correct, span_of_counts predicted, span_of_counts total) {
    std::vector<double> all;
    for (std::size_t c = 0; c < correct.size(); ++c) all.push_back(f1(correct[c], predicted[c], total[c]));
    return all;
  }

  /// Over the classes that occur among labels or predictions. Those behind the classes of the data have no sample, so
  /// theirs is 0.
  static double macro(span_of_counts correct, span_of_counts predicted, span_of_counts total,
                      std::uint64_t other_classes) noexcept {
    double sum = 0;
    std::uint64_t seen = other_classes;
    for (std::size_t c = 0; c < correct.size(); ++c) {
      if (predicted[c] + total[c] == 0) continue;
      sum += f1(correct[c], predicted[c], total[c]);
      ++seen;
    }
    return seen == 0 ? share(0, 0) : sum / static_cast<double>(seen);
  }

  static std::uint64_t sum_of(span_of_counts counts) noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }

  const std::size_t bit_words_;
};

}  // namespace

expected<metric_ptr> make_f1(const metric_request& asked) {
  TROUPE_TRY(check_class_state(asked));
  return std::make_shared<const f1_metric>(asked.classes);
}

}  // namespace troupe
