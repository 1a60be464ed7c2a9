#pragma once

#include <troupe/metric_of.hpp>

namespace troupe::bench {

struct compared_outputs {
  std::uint64_t differing = 0;  ///< elements with other bits than the label's
  std::uint64_t hash = 0;       ///< of the bits of all outputs in their order
  double difference = 0;        ///< largest absolute one; infinity for outputs of another shape or type
  double magnitude = 0;         ///< largest absolute value of the labels
};

/// How far outputs are from the labels, which are the outputs of eager PyTorch. `relative` is the largest difference
/// over the largest magnitude.
class same_outputs final : public metric_of<compared_outputs> {
 public:
  same_outputs() : metric_of("same_outputs") {}

 protected:
  [[nodiscard]] expected<void> update(const at::Tensor& outputs, const at::Tensor& labels,
                                      compared_outputs& state) const override;
  void merge(compared_outputs& total, const compared_outputs& part) const override;
  [[nodiscard]] metric_value compute(const compared_outputs& total) const override;
};

}  // namespace troupe::bench
