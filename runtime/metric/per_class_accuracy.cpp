#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

namespace {

/// State: correct of each class, then samples of each class.
class per_class_metric final : public metric {
 public:
  explicit per_class_metric(std::uint32_t classes) : classes_(classes) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 2 * classes_; }

  [[nodiscard]] expected<void> update_words(const at::Tensor& outputs, const at::Tensor& labels,
                                            std::span<std::uint64_t> state) const override {
    TROUPE_CHECK(state.size() == words(), "the caller asked words()");
    if (expected<void> fine = check_outputs(name_, outputs, labels); !fine) return fine;
    if (expected<void> fine = check_known_classes(name_, labels, classes_); !fine) return fine;
    const label_column column = labels_of(labels);
    with_rows_of(outputs, [&](const auto& rows) {
      for (std::int64_t i = 0; i < rows.samples; ++i) {
        const std::int64_t label = column.at(i);
        state[static_cast<std::size_t>(label)] += rank_of(rows, i, label) == 0 ? 1U : 0U;
        state[classes_ + static_cast<std::size_t>(label)] += 1;
      }
    });
    return {};
  }

  void merge_words(std::span<std::uint64_t> into, std::span<const std::uint64_t> part) const override {
    merge_counts(into, part);
  }

  [[nodiscard]] metric_value compute_words(std::span<const std::uint64_t> state) const override {
    const auto correct = state.first(classes_);
    const auto total = state.subspan(classes_);
    std::vector<double> shares;
    for (std::size_t c = 0; c < classes_; ++c) shares.push_back(share(correct[c], total[c]));
    return {name_, {real_list("value", std::move(shares)), count_list("correct", correct), count_list("total", total)}};
  }

 private:
  std::string name_ = "per_class_accuracy";
  std::size_t classes_;
};

}  // namespace

expected<metric_ptr> make_per_class_accuracy(const metric_request& asked) {
  TROUPE_TRY(check_class_state(asked));
  return std::make_shared<const per_class_metric>(asked.classes);
}

}  // namespace troupe
