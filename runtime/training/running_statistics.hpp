#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>

namespace troupe {

/// What the passes of one step have to say to the buffers of a part, in the order of its micro-batches: means and
/// variances of batch normalisations, and how often they ran. The buffers change with the decision of the step, as a
/// plain loop over the micro-batches of all replicas would change them.
class running_statistics {
 public:
  /// Buffers are named by their position in the part.
  void add_mean(std::size_t buffer, double momentum, const at::Tensor& value);
  void add_variance(std::size_t buffer, double momentum, const at::Tensor& value);
  void add_count(std::size_t buffer, double count);
  /// Adds those of a later pass.
  void append(running_statistics later);
  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
  void clear() noexcept { records_.clear(); }

  /// For another replica: two tensors.
  [[nodiscard]] std::vector<at::Tensor> packed() const;
  /// Adds what packed() gave. E0702 for something else.
  [[nodiscard]] expected<void> add_packed(std::span<const at::Tensor> packed, std::span<const at::Tensor> buffers);

  /// The values of the buffers afterwards; those that nothing was said to are the given ones.
  [[nodiscard]] std::vector<at::Tensor> folded_into(std::span<const at::Tensor> buffers) const;

 private:
  enum class record_kind : std::uint8_t { count, mean, variance };
  struct record {
    record_kind kind = record_kind::count;
    std::size_t buffer = 0;
    double momentum = 0;  ///< 0 for a count
    at::Tensor value;     ///< of type Double
  };
  void add(record_kind kind, std::size_t buffer, double momentum, const at::Tensor& value);

  std::vector<record> records_;
};

}  // namespace troupe
