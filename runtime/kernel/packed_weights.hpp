#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/kernel/bfloat16.hpp"

namespace troupe {

/// Outputs that lie next to each other in packed weights.
inline constexpr std::int64_t panel_width = 16;

/// The weights of a linear layer as they lie in memory: the one of output n and input k is
/// data[n * output_stride + k * input_stride]. A matrix [outputs, inputs] has the strides (inputs, 1); its transpose
/// [inputs, outputs] has (1, outputs). Strides may be 0 or negative.
template <class Number>
struct weight_matrix {
  const Number* data = nullptr;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t output_stride = 0;
  std::int64_t input_stride = 0;
};

/// The weights and the bias of one linear layer, in the order in which packed_linear() reads them: panels of 16 outputs
/// with the weights of each input side by side, [outputs / 16][inputs][16], filled up with zeros. Never changes, so
/// that threads may share it; a copy shares the memory, which is aligned to 64 bytes.
class packed_weights {
 public:
  /// Copies the weights. `bias` has `outputs` numbers with `bias_stride` between them; nullptr stands for zeros.
  /// Sizes must not be negative, and 4 * (outputs + 15) * inputs must stay below 2^62; both hold for a matrix that is
  /// in memory, so they are invariants. Throws std::bad_alloc if there is no memory.
  packed_weights(const weight_matrix<float>& weights, const float* bias, std::int64_t bias_stride = 1);
  /// The weights stay bfloat16, half as many bytes.
  packed_weights(const weight_matrix<bfloat16>& weights, const float* bias, std::int64_t bias_stride = 1);

  std::int64_t outputs() const { return outputs_; }
  std::int64_t inputs() const { return inputs_; }
  bool is_bfloat16() const { return is_bfloat16_; }
  /// The memory of the packed weights and the bias, with the zeros that fill them up.
  std::int64_t bytes() const { return bytes_; }

  /// The first panel: float or bfloat16, see is_bfloat16().
  const void* panels() const { return memory_.get() + bias_bytes_; }
  /// One per output, filled up with zeros to a multiple of panel_width.
  const float* bias() const { return static_cast<const float*>(static_cast<const void*>(memory_.get())); }

 private:
  template <class Number>
  void pack(const weight_matrix<Number>& weights, const float* bias, std::int64_t bias_stride);

  std::int64_t outputs_ = 0;
  std::int64_t inputs_ = 0;
  std::int64_t bias_bytes_ = 0;
  std::int64_t bytes_ = 0;
  bool is_bfloat16_ = false;
  std::shared_ptr<const std::byte[]> memory_;
};

}  // namespace troupe
