#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/error.hpp"

namespace troupe {

/// What a metric says in the end, in the order and under the names of result.json:
/// accuracy {value, correct, total}; per_class_accuracy {value[], correct[], total[]}; cross_entropy, nll {mean, sum,
/// count}.
struct metric_value {
  std::string name;
  /// Exact counts and real numbers keep their kinds, so that JSON shows 9904 and 0.9904.
  struct field {
    std::string name;
    bool is_list = false;
    bool is_count = false;
    std::vector<double> reals;
    std::vector<std::uint64_t> counts;
  };
  std::vector<field> fields;
};

/// A metric is a state (sums and counts), an update on the stage and a merge at the aggregator. The state of one
/// micro-batch is a run of 64-bit words: counts as they are, doubles as bit patterns. Sums are doubles, counts 64-bit
/// integers. Const and thread-safe: one object serves all replicas.
class metric {
 public:
  metric() = default;
  metric(const metric&) = delete;
  metric& operator=(const metric&) = delete;
  virtual ~metric() = default;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  /// Words of a state; fixed for the life of the metric. A new state is all zero words.
  [[nodiscard]] virtual std::size_t words() const noexcept = 0;
  /// Adds one micro-batch to a zero state. outputs [N, classes] float32 (or float64, float16, bfloat16), labels [N]
  /// int64. A wrong shape, dtype or label is an error (E0603) that names the sample. No LibTorch operation on the way:
  /// scalar loops in a fixed order, because operations cost 6-8 us per micro-batch and may change the order of a sum.
  [[nodiscard]] virtual expected<void> update(const at::Tensor& outputs, const at::Tensor& labels,
                                              std::span<std::uint64_t> state) const = 0;
  /// total += part. The caller merges in id order: floating-point sums depend on it.
  virtual void merge(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const = 0;
  [[nodiscard]] virtual metric_value compute(std::span<const std::uint64_t> total) const = 0;
};

using metric_ptr = std::shared_ptr<const metric>;

/// "accuracy", "top3" (any K), "per_class_accuracy", "confusion_matrix", "cross_entropy", "nll". `classes` is the
/// data's. An unknown name is E0102 with a suggestion and the list.
expected<metric_ptr> make_metric(const std::string& name, std::uint32_t classes);
std::vector<std::string> metric_names();

}  // namespace troupe
