#include <algorithm>

#include "messages/try.hpp"
#include "runtime/metric/class_batch.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

/// It takes of a sample whether its label is among the first, and whether it counts at all.
class top_k_metric final : public sum_metric {
 public:
  top_k_metric(const metric_request& asked, std::int64_t k) : sum_metric(asked.name, 0, word_count), k_(k) {
    rules_.ignored = asked.settings.whole("ignore_index");
    rules_.takes_one_output = asked.k == 0 && asked.classes == 2;
    if (asked.settings.has("threshold")) rules_.threshold = asked.settings.real("threshold", 0);
  }

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    return {name(),
            {real_field("value", share(state[correct], state[total])), count_field("correct", state[correct]),
             count_field("total", state[total])},
            metric_form::share};
  }

 private:
  enum word : std::size_t { correct, total, word_count };

  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    TROUPE_TRY(check_k(*TROUPE_TRY(part.output())));
    const class_batch batch = TROUPE_TRY(class_batch::open(name(), part, rules_));
    numbers.assign(static_cast<std::size_t>(batch.size()) * word_count, 0);
    batch.for_each([&](const auto& rows, std::int64_t i, std::int64_t label) {
      double* const sample = numbers.data() + static_cast<std::size_t>(i) * word_count;
      const bool is_right = batch.is_binary ? batch.predicted(rows, i) == label : rank_of(rows, i, label) < k_;
      sample[correct] = is_right ? 1 : 0;
      sample[total] = 1;
    });
    return {};
  }

  /// Before labels are looked at: one that is no output follows from a K that is meant for another model.
  [[nodiscard]] expected<void> check_k(const at::Tensor& outputs) const {
    if (!outputs.defined() || outputs.dim() != 2 || outputs.size(1) == 0 || outputs.size(1) >= k_) return {};
    const std::string found = std::to_string(outputs.size(1));
    return fail(error_code::metric_failed, name(),
                "expected at least " + std::to_string(k_) + " outputs per sample, found " + found,
                "choose a K of " + found + " or less");
  }

  class_rules rules_;
  std::int64_t k_;
};

}  // namespace

expected<metric_ptr> make_top_k(const metric_request& asked) {
  return std::make_shared<const top_k_metric>(asked, std::max<std::int64_t>(1, asked.k));
}

}  // namespace troupe
