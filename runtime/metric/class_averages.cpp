#include <bit>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/class_tally.hpp"

namespace troupe {

namespace {

constexpr std::size_t bits_per_word = 64;
constexpr std::size_t outputs_max = limits::metric_classes_max;
static_assert(3 * outputs_max + outputs_max / bits_per_word + 2 <= limits::score_words_max,
              "a state of the largest size fits a score");

/// One class, or several as one: right predictions, predictions, samples, and samples that are of another class.
struct class_score_input {
  double correct = 0;
  double predicted = 0;
  double total = 0;
  double others = 0;
};

double quotient_or_zero(double part, double whole) noexcept {
  return whole > 0 ? part / whole : 0.0;
}

/// The score of a class.
using class_score = double (*)(const class_score_input&, double beta_squared);

double precision_of(const class_score_input& of, double) {
  return quotient_or_zero(of.correct, of.predicted);
}
double recall_of(const class_score_input& of, double) {
  return quotient_or_zero(of.correct, of.total);
}
double fbeta_of(const class_score_input& of, double beta_squared) {
  return quotient_or_zero((1 + beta_squared) * of.correct, beta_squared * of.total + of.predicted);
}
double specificity_of(const class_score_input& of, double) {
  return quotient_or_zero(of.others - (of.predicted - of.correct), of.others);
}

/// State: a tally; then a bit for each possible output of a model behind the classes of the data, set where it was
/// predicted.
class averaged_metric final : public tally_metric {
 public:
  averaged_metric(const metric_request& asked, class_score score)
      : tally_metric(asked, bit_words(asked.classes)),
        score_(score),
        average_(asked.settings.word("average", "")),
        beta_squared_(asked.settings.real("beta", 1) * asked.settings.real("beta", 1)) {}

  void merge_words(std::span<std::uint64_t> into, std::span<const std::uint64_t> part) const override {
    const std::size_t counts = 3 * classes_;
    merge_counts(into.first(counts), part.first(counts));
    for (std::size_t word = counts; word < words(); ++word) into[word] |= part[word];
  }

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const class_tally all = tally(state);
    std::uint64_t other_classes = 0;
    for (const std::uint64_t bits : state.subspan(3 * classes_)) {
      other_classes += static_cast<std::uint64_t>(std::popcount(bits));
    }
    if (average_ == "none") {
      return {name(), {real_list("value", per_class(all)), count_list("total", all.total)}, metric_form::per_class};
    }
    if (!average_.empty()) {
      const double value = average_ == "macro"      ? macro(all, other_classes)
                           : average_ == "micro"    ? micro(all, other_classes)
                           : average_ == "weighted" ? weighted(all)
                                                    : score_of(all, 1);
      return {name(), {real_field("value", value), count_field("count", all.samples)}};
    }
    return {name(),
            {real_field("macro", macro(all, other_classes)), real_field("micro", micro(all, other_classes)),
             real_field("weighted", weighted(all)), real_list("per_class", per_class(all)),
             count_list("correct", all.correct), count_list("predicted", all.predicted), count_list("total", all.total),
             count_field("other", all.other()), count_field("other_classes", other_classes)},
            metric_form::per_class};
  }

 private:
  static std::size_t bit_words(std::size_t classes) {
    return (outputs_max - classes + bits_per_word - 1) / bits_per_word;
  }

  [[nodiscard]] expected<void> check_width(std::int64_t outputs) const override {
    if (static_cast<std::size_t>(outputs) <= outputs_max) return {};
    return fail(error_code::metric_failed, name(),
                "expected a model with up to " + std::to_string(outputs_max) + " outputs per sample, found " +
                    std::to_string(outputs),
                "choose per_class_accuracy, accuracy or a topK");
  }

  void count_pair(std::size_t label, std::size_t predicted, std::uint64_t times,
                  std::span<std::uint64_t> state) const override {
    tally_metric::count_pair(label, predicted, times, state);
    if (predicted < classes_ || predicted >= outputs_max) return;
    const std::size_t bit = predicted - classes_;
    state[3 * classes_ + bit / bits_per_word] |= std::uint64_t{1} << bit % bits_per_word;
  }

  [[nodiscard]] double score_of(const class_tally& all, std::size_t c) const {
    const auto total = static_cast<double>(all.total[c]);
    return score_({static_cast<double>(all.correct[c]), static_cast<double>(all.predicted[c]), total,
                   static_cast<double>(all.samples) - total},
                  beta_squared_);
  }

  [[nodiscard]] std::vector<double> per_class(const class_tally& all) const {
    std::vector<double> scores;
    for (std::size_t c = 0; c < classes_; ++c) scores.push_back(score_of(all, c));
    return scores;
  }

  /// Over the classes that occur among labels or predictions. A class of the model alone has no samples.
  [[nodiscard]] double macro(const class_tally& all, std::uint64_t other_classes) const {
    double sum = 0;
    std::uint64_t seen = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      if (all.predicted[c] + all.total[c] == 0) continue;
      sum += score_of(all, c);
      ++seen;
    }
    if (other_classes > 0) {
      // Their scores are linear in their predictions, so that the mean of them stands for each.
      const auto samples = static_cast<double>(all.samples);
      const double predictions = static_cast<double>(all.other()) / static_cast<double>(other_classes);
      sum += static_cast<double>(other_classes) * score_({0, predictions, 0, samples}, beta_squared_);
      seen += other_classes;
    }
    return seen == 0 ? share(0, 0) : sum / static_cast<double>(seen);
  }

  [[nodiscard]] double micro(const class_tally& all, std::uint64_t other_classes) const {
    const auto samples = static_cast<double>(all.samples);
    if (samples == 0) return share(0, 0);
    const auto classes = static_cast<double>(classes_ + other_classes);
    return score_({static_cast<double>(class_tally::sum(all.correct)), samples, samples, samples * (classes - 1)},
                  beta_squared_);
  }

  [[nodiscard]] double weighted(const class_tally& all) const {
    double sum = 0;
    for (std::size_t c = 0; c < classes_; ++c) sum += static_cast<double>(all.total[c]) * score_of(all, c);
    const std::uint64_t samples = all.samples;
    return samples == 0 ? share(0, 0) : sum / static_cast<double>(samples);
  }

  const class_score score_;
  const std::string average_;
  const double beta_squared_;
};

expected<metric_ptr> make_averaged(const metric_request& asked, class_score score) {
  TROUPE_TRY(check_class_state(asked));
  if (asked.settings.word("average", "") == "binary" && asked.classes < 2) {
    return fail(error_code::value_out_of_range, "metric " + asked.name + ", option average",
                "binary is the value of class 1, and the data have one class", "choose another average");
  }
  return std::make_shared<const averaged_metric>(asked, score);
}

}  // namespace

expected<metric_ptr> make_precision(const metric_request& asked) {
  return make_averaged(asked, precision_of);
}
expected<metric_ptr> make_recall(const metric_request& asked) {
  return make_averaged(asked, recall_of);
}
expected<metric_ptr> make_fbeta(const metric_request& asked) {
  return make_averaged(asked, fbeta_of);
}
expected<metric_ptr> make_specificity(const metric_request& asked) {
  return make_averaged(asked, specificity_of);
}

}  // namespace troupe
