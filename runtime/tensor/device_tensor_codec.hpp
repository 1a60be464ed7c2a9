#pragma once

#include <c10/core/Device.h>

#include "runtime/edge/nccl/device_codec.hpp"

namespace troupe {

/// tensor_set on one of LibTorch's devices: the description is that of tensor_codec without the data (all offsets are
/// 0), and each tensor that has bytes is an extent of them. They keep dtype, name, sizes and strides, and are never
/// copied: split() shows the tensors' memory, join() makes views of the places, on the device.
///
/// check() refuses what tensor_codec refuses, tensors of other devices, and those whose memory is not their values in a
/// dense row: a stage lays these out before it sends them. A broken invariant: another kind of payload.
class device_tensor_codec final : public device_codec {
 public:
  /// With its number, as torch_device() gives it.
  explicit device_tensor_codec(c10::Device device) : device_(device) {}

  void check(const payload& value) const override;
  [[nodiscard]] device_parts split(const payload_ptr& value) const override;
  [[nodiscard]] expected<void> matches(std::span<const std::byte> description,
                                       std::span<const device_extent> extents) const override;
  [[nodiscard]] expected<payload_ptr> join(std::span<const std::byte> description,
                                           std::span<const device_extent> extents, std::span<std::byte* const> places,
                                           std::shared_ptr<const void> owner) const override;

 private:
  const c10::Device device_;
};

}  // namespace troupe
