#include <algorithm>

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
  explicit confusion_metric(const metric_request& asked) : class_counts(asked), columns_(classes_ + 1) {}

  [[nodiscard]] std::size_t words() const noexcept override { return classes_ * columns_; }

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    metric_value result{name(), {}, metric_form::matrix};
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
  void count_pair(std::size_t label, std::size_t predicted, std::uint64_t times,
                  std::span<std::uint64_t> state) const override {
    state[label * columns_ + std::min(predicted, classes_)] += times;
  }

  const std::size_t columns_;
};

}  // namespace

expected<metric_ptr> make_confusion_matrix(const metric_request& asked) {
  TROUPE_TRY(check_class_state(asked, matrix_classes_max));
  return std::make_shared<const confusion_metric>(asked);
}

}  // namespace troupe
