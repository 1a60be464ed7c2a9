#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/error.hpp"
#include "runtime/metric/metric_value.hpp"

namespace troupe {

/// A metric is a state (sums and counts), an update on the stage and a merge at the aggregator. Derive a metric of your
/// own from metric_of or mean_metric (metric_of.hpp), and from this class only if the size of its state is not known
/// when the program is compiled.
///
/// The state of one micro-batch is a run of 64-bit words: counts as they are, doubles as bit patterns. Const and
/// thread-safe: one object serves all replicas.
class metric {
 public:
  metric() = default;
  metric(const metric&) = delete;
  metric& operator=(const metric&) = delete;
  virtual ~metric() = default;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  /// Words of a state; fixed for the life of the metric. A new state is all zero words.
  [[nodiscard]] virtual std::size_t words() const noexcept = 0;
  /// Adds one micro-batch to a zero state. outputs and labels have the samples as dimension 0, on the CPU, in any
  /// strides. What does not fit is an error (E0603) that names the sample where one is to blame; the state then stays
  /// as it was. The metrics of this library loop over the memory in a fixed order: a LibTorch operation costs 6-8 us
  /// per micro-batch and may change the order of a sum.
  [[nodiscard]] virtual expected<void> update_words(const at::Tensor& outputs, const at::Tensor& labels,
                                                    std::span<std::uint64_t> state) const = 0;
  /// total += part. The caller merges in id order: floating-point sums depend on it.
  virtual void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const = 0;
  [[nodiscard]] virtual metric_value compute_words(std::span<const std::uint64_t> total) const = 0;

  /// Told the first micro-batch before a run starts, after an update_words() that accepted it. Refuses values that can
  /// be computed and mean nothing, as nll of outputs that are no log-probabilities (E0108).
  [[nodiscard]] virtual expected<void> judge([[maybe_unused]] const at::Tensor& outputs,
                                             [[maybe_unused]] const at::Tensor& labels) const {
    return {};
  }
};

using metric_ptr = std::shared_ptr<const metric>;

/// A metric by name: a row of metric_table.hpp. `classes` is the data's. An unknown name is E0102 with a suggestion and
/// the list; a K out of range, or classes that the metric cannot count, E0103.
expected<metric_ptr> make_metric(const std::string& name, std::uint32_t classes);
/// In the order of the table; "topK" stands for any K.
std::vector<std::string> metric_names();

}  // namespace troupe
