// A stage with hundreds of classes, whose confusion matrix makes each score as large as some messages may be.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <troupe/troupe.hpp>

namespace troupe::testing {

/// Sample i is eight numbers made of i; its label is one of `classes`.
class made_up_set final : public data_set {
 public:
  explicit made_up_set(std::uint32_t classes) : classes_(classes) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return 1u << 20; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {8}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return classes_; }
  [[nodiscard]] std::string name() const override { return "made up:" + std::to_string(classes_); }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const auto samples =
        at::arange(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end), at::kLong);
    const at::Tensor inputs = at::outer(samples.to(at::kFloat), at::arange(1, 9, at::kFloat)).sin();
    return sample_block{inputs.contiguous(), (samples * 7919).remainder(static_cast<std::int64_t>(classes_))};
  }

 private:
  std::uint32_t classes_;
};

inline topology many_classes(std::uint32_t classes, const stage_options& each) {
  const at::Tensor weights = at::arange(8 * static_cast<std::int64_t>(classes), at::kFloat).cos().view({8, classes});
  return topology{}
      .source("loader", std::make_shared<made_up_set>(classes))
      .stage(
          "classes", [weights](const at::Tensor& x) { return x.matmul(weights); }, each)
      .sink("metrics", {"accuracy", "confusion_matrix"});
}

}  // namespace troupe::testing
