#include <algorithm>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/class_counts.hpp"

namespace troupe {

namespace {

/// The greatest C of which C * (C + 1) words, with the two that every score has, fit a score.
constexpr std::uint32_t matrix_classes_max = 1023;
static_assert(matrix_classes_max * (matrix_classes_max + 1) + 2 <= limits::score_words_max);
static_assert((matrix_classes_max + 1) * (matrix_classes_max + 2) + 2 > limits::score_words_max);

/// State: one row per label, one column per predicted class, and a last column for predictions that are no class of the
/// data (a model may have more outputs than the data has classes).
class confusion_metric final : public class_counts {
 public:
  explicit confusion_metric(std::uint32_t classes)
      : class_counts("confusion_matrix", classes), columns_(classes_ + 1) {}

  [[nodiscard]] std::size_t words() const noexcept override { return classes_ * columns_; }

  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>&) const override {
    const at::Tensor& outputs = *TROUPE_TRY(part.output());
    const at::Tensor& labels = *TROUPE_TRY(part.label());
    TROUPE_CHECK(state.size() == words(), "the caller asked words()");
    TROUPE_TRY(check(outputs, labels));
    for_each_sample(outputs, labels, [&](const auto& rows, std::int64_t i, std::size_t label) {
      const std::size_t predicted = std::min(static_cast<std::size_t>(argmax(rows, i)), classes_);
      state[label * columns_ + predicted] += 1;
    });
    return {};
  }

  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    const std::span state = total.words;
    metric_value result{name_, {}, metric_form::matrix};
    std::vector<std::uint64_t> other;
    for (std::size_t label = 0; label < classes_; ++label) {
      const auto row = state.subspan(label * columns_, columns_);
      result.fields.push_back(count_list("label_" + std::to_string(label), row.first(classes_)));
      other.push_back(row.back());
    }
    result.fields.push_back(count_list("other", other));
    return result;
  }

 private:
  const std::size_t columns_;
};

}  // namespace

expected<metric_ptr> make_confusion_matrix(const metric_request& asked) {
  TROUPE_TRY(check_class_state(asked, matrix_classes_max));
  return std::make_shared<const confusion_metric>(asked.classes);
}

}  // namespace troupe
