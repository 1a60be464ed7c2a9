#pragma once

#include <string>
#include <vector>

#include "messages/try.hpp"
#include "runtime/metric/class_batch.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

/// What the options `ignore_index` and `threshold` of a metric per class say.
inline class_rules rules_per_class(const metric_request& asked) {
  class_rules rules{.ignored = asked.settings.whole("ignore_index"),
                    .known_classes = asked.classes,
                    .takes_one_output = asked.classes == 2};
  if (asked.settings.has("threshold")) rules.threshold = asked.settings.real("threshold", 0);
  return rules;
}

/// A metric that counts labels and predictions. What it takes of a sample is the label, -1 if it is left out, and the
/// predicted class.
class class_counts : public sample_metric {
 public:
  [[nodiscard]] std::size_t width() const noexcept final { return 2; }
  void merge_words(std::span<std::uint64_t> into, std::span<const std::uint64_t> part) const override {
    merge_counts(into, part);
  }
  void count(const double* sample, std::uint64_t times, std::span<std::uint64_t> state) const final {
    if (!(sample[0] >= 0 && sample[0] < static_cast<double>(classes_))) return;
    count_pair(static_cast<std::size_t>(sample[0]), static_cast<std::size_t>(as_count(sample[1])), times, state);
  }

 protected:
  explicit class_counts(const metric_request& asked)
      : sample_metric(asked.name), classes_(asked.classes), rules_(rules_per_class(asked)) {}

  /// `label` is a class of the data, `predicted` may be any number.
  virtual void count_pair(std::size_t label, std::size_t predicted, std::uint64_t times,
                          std::span<std::uint64_t> state) const = 0;
  [[nodiscard]] virtual expected<void> check_width([[maybe_unused]] std::int64_t outputs) const { return {}; }

  const std::size_t classes_;

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const final {
    const class_batch batch = TROUPE_TRY(class_batch::open(name(), part, rules_));
    TROUPE_TRY(check_width(batch.is_binary ? 1 : batch.outputs.size(1)));
    numbers.assign(static_cast<std::size_t>(batch.size()) * width(), -1);
    batch.for_each([&](const auto& rows, std::int64_t i, std::int64_t label) {
      double* const sample = numbers.data() + static_cast<std::size_t>(i) * width();
      sample[0] = static_cast<double>(label);
      sample[1] = static_cast<double>(batch.predicted(rows, i));
    });
    return {};
  }

  const class_rules rules_;
};

}  // namespace troupe
