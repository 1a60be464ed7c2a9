#include "runtime/kernel/packed_weights.hpp"

#include <algorithm>
#include <new>

#include "messages/check.hpp"

namespace troupe {
namespace {

constexpr std::int64_t bytes_max = std::int64_t{1} << 62;
constexpr std::align_val_t alignment{64};

std::shared_ptr<std::byte[]> aligned_memory(std::int64_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), alignment));
  return {memory, [](std::byte* freed) { ::operator delete(freed, alignment); }};
}

/// One panel of at most 16 outputs. Reads along the inputs, which are usually neighbours in memory.
template <class Number>
void pack_panel(const weight_matrix<Number>& weights, std::int64_t first, Number* panel) {
  const std::int64_t count = std::min(panel_width, weights.outputs - first);
  if (count < panel_width) std::fill_n(panel, weights.inputs * panel_width, Number{});
  for (std::int64_t n = 0; n < count; ++n) {
    const Number* from = weights.data + (first + n) * weights.output_stride;
    for (std::int64_t k = 0; k < weights.inputs; ++k) panel[k * panel_width + n] = from[k * weights.input_stride];
  }
}

}  // namespace

packed_weights::packed_weights(const weight_matrix<float>& weights, const float* bias, std::int64_t bias_stride) {
  pack(weights, bias, bias_stride);
}

packed_weights::packed_weights(const weight_matrix<bfloat16>& weights, const float* bias, std::int64_t bias_stride)
    : is_bfloat16_(true) {
  pack(weights, bias, bias_stride);
}

template <class Number>
void packed_weights::pack(const weight_matrix<Number>& weights, const float* bias, std::int64_t bias_stride) {
  TROUPE_CHECK(weights.outputs >= 0 && weights.inputs >= 0, "a tensor has no negative size");
  TROUPE_CHECK(weights.outputs < bytes_max / 4 - panel_width, "a bias of that length was in memory");
  outputs_ = weights.outputs;
  inputs_ = weights.inputs;
  const std::int64_t filled = (outputs_ + panel_width - 1) / panel_width * panel_width;
  const auto size = static_cast<std::int64_t>(sizeof(Number));
  TROUPE_CHECK(inputs_ == 0 || filled < bytes_max / size / inputs_, "weights of that number were in memory");
  bias_bytes_ = filled * static_cast<std::int64_t>(sizeof(float));
  bytes_ = bias_bytes_ + filled * inputs_ * size;

  const auto memory = aligned_memory(bytes_);
  auto* biases = static_cast<float*>(static_cast<void*>(memory.get()));
  std::fill_n(biases, filled, 0.0F);
  for (std::int64_t n = 0; bias != nullptr && n < outputs_; ++n) biases[n] = bias[n * bias_stride];
  auto* panels = static_cast<Number*>(static_cast<void*>(memory.get() + bias_bytes_));
  for (std::int64_t n = 0; n < outputs_; n += panel_width) pack_panel(weights, n, panels + n * inputs_);
  memory_ = memory;
}

}  // namespace troupe
