#pragma once

#include <string>

#include "messages/try.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

/// A metric that counts per class of the data.
class class_counts : public metric {
 public:
  [[nodiscard]] const std::string& name() const noexcept final { return name_; }
  void merge_words(std::span<std::uint64_t> into, std::span<const std::uint64_t> part) const override {
    merge_counts(into, part);
  }

 protected:
  class_counts(std::string name, std::uint32_t classes) : name_(std::move(name)), classes_(classes) {}

  /// E0603 for outputs and labels that do not fit, or that are of another class.
  [[nodiscard]] expected<void> check(const at::Tensor& outputs, const at::Tensor& labels) const {
    TROUPE_TRY(check_outputs(name_, outputs, labels));
    return check_known_classes(name_, labels, classes_);
  }
  /// Calls `count(rows, sample, label)` for each sample of what check() has accepted.
  template <class Count>
  static void for_each_sample(const at::Tensor& outputs, const at::Tensor& labels, const Count& count) {
    const label_column column = labels_of(labels);
    with_rows_of(outputs, [&](const auto& rows) {
      for (std::int64_t i = 0; i < rows.samples; ++i) count(rows, i, static_cast<std::size_t>(column.at(i)));
    });
  }

  const std::string name_;
  const std::size_t classes_;
};

}  // namespace troupe
