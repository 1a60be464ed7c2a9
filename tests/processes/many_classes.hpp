// A stage with hundreds or thousands of classes, whose states of metrics make each score as large as some messages may
// be. Some samples have NaN or an infinity among their outputs.
#pragma once

#include <cmath>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "tests/processes/odd_samples.hpp"
#include <troupe/troupe.hpp>

namespace troupe::testing {

/// Sample i is eight numbers made of i; its label is one of `classes`.
class made_up_set final : public data_set {
 public:
  /// `file`: what a journal takes for the data.
  explicit made_up_set(std::uint32_t classes, std::string file = {}) : classes_(classes), file_(std::move(file)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return 1u << 20; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {8}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return classes_; }
  [[nodiscard]] std::string name() const override { return "made up:" + std::to_string(classes_); }
  [[nodiscard]] std::vector<std::string> files() const override {
    return file_.empty() ? std::vector<std::string>() : std::vector{file_};
  }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const auto samples =
        at::arange(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end), at::kLong);
    const at::Tensor inputs = at::outer(samples.to(at::kFloat), at::arange(1, 9, at::kFloat)).sin();
    return sample_block{inputs.contiguous(), (samples * 7919).remainder(static_cast<std::int64_t>(classes_))};
  }

 private:
  std::uint32_t classes_;
  std::string file_;
};

inline topology many_classes(std::uint32_t classes, const stage_options& each,
                             const std::vector<metric_choice>& metrics = {"accuracy", "confusion_matrix"},
                             const std::string& file = {}) {
  const at::Tensor weights = at::arange(8 * static_cast<std::int64_t>(classes), at::kFloat).cos().view({8, classes});
  return topology{}
      .source("loader", std::make_shared<made_up_set>(classes, file))
      .stage(
          "classes",
          [weights](const at::Tensor& x) {
            const at::Tensor first = x.select(1, 0);
            at::Tensor outputs = x.matmul(weights);
            outputs.select(1, 5).masked_fill_(first.gt(nan_above), std::nan(""));
            outputs.select(1, 7).masked_fill_(first.lt(infinite_below), INFINITY);
            return outputs;
          },
          each)
      .sink("metrics", metrics);
}

/// As ImageNet-21k has them, with all metrics that count no pairs.
inline topology thousands_of_classes(const stage_options& each, const std::string& file = {}) {
  return many_classes(21'841, each, {"accuracy", "top5", "per_class_accuracy", "f1"}, file);
}

}  // namespace troupe::testing
